// Facts about one patch, and the two orders in which one may walk over a picture. All from the engine's functions.
import type { Calc, Rows } from '../calc';

export type Order = 'blocks' | 'lines';

/** Patch that comes `step`-th: as rows of pixel_values run, or line by line. */
export function order_place(calc: Calc, rows: Rows, order: Order, step: number): { y: number; x: number } {
  if (order === 'lines') return { y: Math.floor(step / rows.grid_cols), x: step % rows.grid_cols };
  const { y, x } = calc.place({ h: rows.grid_rows, w: rows.grid_cols, row: step });
  return { y, x };
}

/** Row, slot, token, position and pixels of the patch at (y, x), with `before` tokens of text in front of the picture. */
export function patch_facts(calc: Calc, rows: Rows, before: number, y: number, x: number) {
  const grid = { h: rows.grid_rows, w: rows.grid_cols };
  const place = calc.place({ ...grid, y, x });
  const segments = `${before > 0 ? `${before} ` : ''}1x${grid.h}x${grid.w}`;
  const [position] = calc.positions({ segments, first: before + place.token, count: 1 }).positions;
  const unit = calc.table.constants.unit;
  return { ...place, position, top: y * unit, bottom: (y + 1) * unit - 1, left: x * unit, right: (x + 1) * unit - 1 };
}
