// Facts about one patch, and the two orders in which one may walk over a picture. All from the engine's functions.
import type { Calc, Model, Rows } from '../calc';

export type Order = 'blocks' | 'lines';

/** How a model's processor cuts a picture: units of 16 pixels, blocks of `block` × `block` units to one token. */
export interface Layout {
  h: number; // units
  w: number;
  block: number;
  rows: number; // block side of the order of rows: 1 runs line by line
  unified: boolean; // a row is a whole block
  axes: boolean; // positions have three axes
}

export function layout_of(calc: Calc, model: Model, rows: Rows): Layout {
  const { unit, merge, pool } = calc.table.constants;
  const unified = model.family === 'gemma4_unified';
  const gemma = unified || model.family === 'gemma4';
  const block = gemma ? pool : merge;
  return { h: rows.resized_height / unit, w: rows.resized_width / unit, block, rows: gemma && !unified ? 1 : block, unified, axes: !gemma };
}

/** Unit that comes `step`-th: as rows of pixel_values run, or line by line. */
export function order_place(calc: Calc, { h, w, rows }: Layout, order: Order, step: number): { y: number; x: number } {
  const { y, x } = calc.place({ h, w, row: step, merge: order === 'lines' ? 1 : rows });
  return { y, x };
}

/** Row, slot, token, position and pixels of the unit at (y, x), with `before` tokens of text in front of the picture. */
export function patch_facts(calc: Calc, layout: Layout, before: number, y: number, x: number) {
  const grid = { h: layout.h, w: layout.w, y, x };
  const { slot, token } = calc.place({ ...grid, merge: layout.block });
  const row = layout.unified ? token : calc.place({ ...grid, merge: layout.rows }).row;
  const unit = calc.table.constants.unit;
  return { row, slot, token, position: position_of(calc, layout, before, token), top: y * unit, bottom: (y + 1) * unit - 1, left: x * unit, right: (x + 1) * unit - 1 };
}

/** (T, H, W) of a visual token, or its one position: the index. */
function position_of(calc: Calc, { h, w, axes }: Layout, before: number, token: number): number[] {
  if (!axes) return [before + token];
  const segments = `${before > 0 ? `${before} ` : ''}1x${h}x${w}`;
  return calc.positions({ segments, first: before + token, count: 1 }).positions[0];
}
