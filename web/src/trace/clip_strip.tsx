// The groups of a recorded clip in the order of the prompt: frames, time stamp, tokens with their places.
import { use_page } from '../page_context';
import type { Trace } from './schema';

const kSide = 96; // pixels of a frame as shown

export function ClipStrip({ trace, data }: { trace: Trace; data: string }) {
  const { t } = use_page();
  const position = (i: number) => `(${trace.positions!.map((axis) => axis[i]).join(',\u00a0')})`;
  return (
    <figure class="clip" id="clip">
      <ol>
        {trace.clip!.groups.map(({ frames, stamp, first, tokens }, g) => (
          <li>
            <p class="clip-head"><strong>{t('clip_group', { n: g })}</strong> <code>{`<${stamp} seconds>`}</code></p>
            <div class="clip-frames">
              {frames.map(({ index, file, again }) => {
                const name = t(again ? 'clip_again' : 'clip_frame', { n: index });
                return <div class={again ? 'again' : undefined}><img src={`${data}${file}`} alt={name} width={kSide} height={kSide} /><span aria-hidden="true">{name}</span></div>;
              })}
            </div>
            <p class="small">{t('clip_tokens', { n: tokens, first, last: first + tokens - 1, from: position(first), to: position(first + tokens - 1) })}</p>
          </li>
        ))}
      </ol>
      <figcaption>{t('clip_text')}</figcaption>
    </figure>
  );
}
