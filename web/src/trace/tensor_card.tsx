// One tensor: shape, range, moments, a histogram, and the norms of its rows laid over the picture where rows are patches.
import { number_text, shape_text } from '../lang';
import { use_page } from '../page_context';
import type { Event, Tensor, Trace } from './schema';

const bytes_of = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

function Histogram({ counts, label }: { counts: number[]; label: string }) {
  const most = Math.max(...counts, 1);
  return (
    <svg class="fig histogram" viewBox={`0 0 ${counts.length * 4} 70`} role="img" aria-label={label} preserveAspectRatio="none">
      {counts.map((count, i) => <rect x={i * 4} width={3.4} y={70 - (68 * count) / most} height={(68 * count) / most} />)}
    </svg>
  );
}

/**
 * Where rows lie on the first picture, the groups of a clip side by side: patches in block order, or tokens line by line.
 * Null where rows are something else.
 */
function use_places(tensor: Tensor, trace: Trace, event: Event) {
  const { calc } = use_page();
  const picture = trace.pictures?.[0];
  if (!picture || !tensor.row_norms) return null;
  const [groups, h, w] = picture.grid;
  const merge = calc.table.constants.merge;
  const rows = tensor.shape[tensor.shape.length - 2];
  if (event.stage === 'vision' && rows >= groups * h * w) {
    const places = Array.from({ length: groups * h * w }, (_, at) => {
      const { group, y, x } = calc.place({ t: groups, h, w, row: at });
      return { at, y, x: x + group * (w + 1) };
    });
    return { h, w, groups, places };
  }
  const [th, tw] = [h / merge, w / merge];
  const runs = picture.runs ?? [picture];
  const starts = Array.from({ length: groups }, (_, g) => (rows === trace.prompt_tokens ? runs[g].first : g * th * tw));
  if (rows < starts[groups - 1] + th * tw) return null;
  const places = starts.flatMap((first, g) => Array.from({ length: th * tw }, (_, i) => ({ at: first + i, y: Math.floor(i / tw), x: (i % tw) + g * (tw + 1) })));
  return { h: th, w: tw, groups, places };
}

function NormMap({ tensor, trace, event }: { tensor: Tensor; trace: Trace; event: Event }) {
  const { t } = use_page();
  const map = use_places(tensor, trace, event);
  if (!map) return null;
  const bytes = bytes_of(tensor.row_norms!.u8);
  const values = map.places.map(({ at }) => bytes[at]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (
    <figure class="norms">
      <svg class="fig" viewBox={`0 0 ${(map.groups * (map.w + 1) - 1) * 10} ${map.h * 10}`} role="img" aria-label={t('trace_norms')}>
        {map.places.map(({ y, x }, i) => (
          <rect x={x * 10} y={y * 10} width={9.6} height={9.6} class="norm" fill-opacity={(0.08 + (0.92 * (values[i] - low)) / Math.max(1, high - low)).toFixed(2)} />
        ))}
      </svg>
      <figcaption>{t('trace_norms_text', { h: map.h, w: map.w })}{map.groups > 1 && t('trace_norms_groups', { n: map.groups })}</figcaption>
    </figure>
  );
}

export function TensorCard({ tensor, trace, event }: { tensor: Tensor; trace: Trace; event: Event }) {
  const { t } = use_page();
  const s = tensor.stats;
  return (
    <div class="tensor">
      <p><strong>{t('trace_out')}: {tensor.name}</strong> <span class="mono">{shape_text(tensor.shape)} {tensor.dtype}</span></p>
      {s && (
        <table>
          <tbody>
            {([['min', s.min], ['max', s.max], ['mean', s.mean], ['std', s.std], ['l2', s.l2], ['NaN', s.nan], ['Inf', s.inf]] as [string, number][]).map(([name, value]) => (
              <tr><th scope="row">{name}</th><td class="number">{number_text(value, 4)}</td></tr>
            ))}
          </tbody>
        </table>
      )}
      {tensor.histogram && (
        <figure class="histogram-figure">
          <Histogram counts={tensor.histogram.counts} label={t('trace_histogram')} />
          <figcaption>{t('trace_histogram_text', { min: number_text(tensor.histogram.min, 2), max: number_text(tensor.histogram.max, 2) })}</figcaption>
        </figure>
      )}
      <NormMap tensor={tensor} trace={trace} event={event} />
    </div>
  );
}
