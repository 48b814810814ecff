// A drawing with title and description, its caption, an enlarged view, and the same content as a table.
import type { ComponentChildren } from 'preact';
import { use_page } from '../page_context';

export interface Table {
  head: string[];
  rows: (string | number)[][];
}

interface FigureProps {
  id: string;
  title: string;
  description: string;
  width: number;
  height: number;
  table: Table;
  children: ComponentChildren;
}

/** A table in its own scrolling box; `names`: row heads are names that must not be broken. */
export function DataTable({ table, caption, names = false }: { table: Table; caption: string; names?: boolean }) {
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table class={names ? 'names' : undefined}>
        <caption>{caption}</caption>
        <thead><tr>{table.head.map((cell) => <th scope="col">{cell}</th>)}</tr></thead>
        <tbody>
          {table.rows.map(([first, ...rest]) => (
            <tr><th scope="row">{first}</th>{rest.map((cell) => <td>{cell}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Figure({ id, title, description, width, height, table, children }: FigureProps) {
  const { t, lang } = use_page();
  return (
    <figure id={`fig-${id}`}>
      <div class="drawing" role="region" aria-label={title} tabIndex={0}>
        <svg class="fig" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-labelledby={`${id}-title ${id}-desc`}>
          <title id={`${id}-title`}>{title}</title>
          <desc id={`${id}-desc`}>{description}</desc>
          {children}
        </svg>
      </div>
      <figcaption><strong>{title}{lang === 'zh' ? '。' : '. '}</strong>{description}</figcaption>
      <p class="actions"><button type="button" class="needs-script" data-zoom={`fig-${id}`} data-close={t('figure_close')}>{t('figure_zoom')}</button></p>
      <details class="twin">
        <summary>{t('figure_table')}</summary>
        <DataTable table={table} caption={title} />
      </details>
    </figure>
  );
}

interface BoxProps {
  x: number;
  y: number;
  width: number;
  height: number;
  kind: string;
  lines: (string | number)[];
}

/** A box with centred lines, the first in bold; what it belongs to shows in its colour and in its edge. */
export function Box({ x, y, width, height, kind, lines }: BoxProps) {
  const top = y + height / 2 - (lines.length - 1) * 9 + 5;
  return (
    <g class={`box ${kind}`}>
      <rect x={x} y={y} width={width} height={height} rx={6} />
      {kind === 'merge' && <rect class="inner" x={x + 3} y={y + 3} width={width - 6} height={height - 6} rx={4} />}
      {lines.map((line, i) => (
        <text x={x + width / 2} y={top + i * 18} text-anchor="middle" class={i === 0 ? 'strong' : 'minor'}>{line}</text>
      ))}
    </g>
  );
}

/** A line with a head, through the points given. */
export function Arrow({ points, kind = 'line' }: { points: [number, number][]; kind?: string }) {
  const [[x0, y0], [x1, y1]] = points.slice(-2);
  const angle = Math.atan2(y1 - y0, x1 - x0);
  const tip = (turn: number) => `${(x1 - 9 * Math.cos(angle + turn)).toFixed(1)},${(y1 - 9 * Math.sin(angle + turn)).toFixed(1)}`;
  return (
    <g class={`arrow ${kind}`}>
      <polyline points={points.map((point) => point.join(',')).join(' ')} />
      <polygon points={`${x1},${y1} ${tip(0.45)} ${tip(-0.45)}`} />
    </g>
  );
}
