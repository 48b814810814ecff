// The prompt as the model reads it: text tokens as they are, runs of placeholders folded, each with its first position.
import { use_page } from '../page_context';
import type { Trace } from './schema';

interface Piece {
  text: string;
  first: number;
  count: number;
  visual: boolean;
}

function pieces_of(trace: Trace): Piece[] {
  const pieces: Piece[] = [];
  const runs = trace.pictures!.flatMap((picture) => picture.runs ?? [picture]);
  trace.tokens!.forEach(({ text }, i) => {
    const visual = runs.some((run) => i >= run.first && i < run.first + run.tokens);
    const last = pieces[pieces.length - 1];
    if (visual && last?.visual) last.count += 1;
    else pieces.push({ text, first: i, count: 1, visual });
  });
  return pieces;
}

export function TokenStrip({ trace }: { trace: Trace }) {
  const { t } = use_page();
  const [time, height, width] = trace.positions!;
  const position = (i: number) => `(${time[i]}, ${height[i]}, ${width[i]})`;
  return (
    <>
      <p class="prose">{t('trace_strip_text', { delta: trace.rope_delta ?? 0 })}</p>
      <ol class="token-strip" lang="en">
        {pieces_of(trace).map((piece) => (
          <li class={piece.visual ? 'visual' : 'plain-token'}>
            <span class="token-text">{piece.visual ? `${piece.count} × ${piece.text}` : piece.text.replace(/\n/g, '⏎').replace(/ /g, '␣')}</span>
            <span class="token-place">{piece.first} · {position(piece.first)}{piece.count > 1 && ` … ${position(piece.first + piece.count - 1)}`}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
