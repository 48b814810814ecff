// The video lab: which frames of a clip are looked at, how they pair, what stamps they get, what the clip costs.
import { useState } from 'preact/hooks';
import type { Rows, Sampling } from '../calc';
import { Field } from '../calculator/fields';
import { field_of, problem_text } from '../calculator/problem_text';
import { ask, kDefaults, type State } from '../calculator/state';
import { number_text } from '../lang';
import { use_page } from '../page_context';

const kFields = ['n', 'r', 'fps', 'k', 'h', 'w'] as const;
const kShown = 40; // groups that are listed
const kWidth = 760;
const kDots = 800; // frames that are drawn; of more, every second, third, ...

function Timeline({ total, sampling }: { total: number; sampling: Sampling }) {
  const { t } = use_page();
  const x = (frame: number) => 10 + ((kWidth - 20) * frame) / Math.max(1, total - 1);
  const every = Math.ceil(sampling.count / kDots);
  const ticks = total <= 400 ? Array.from({ length: total }, (_, i) => i) : [];
  return (
    <div class="drawing" role="region" aria-label={t('video_timeline')} tabIndex={0}>
      <svg class="fig timeline" viewBox={`0 0 ${kWidth} 90`} role="img" aria-label={t('video_timeline')}>
        <line class="rule" x1={10} x2={kWidth - 10} y1={44} y2={44} />
        {ticks.map((frame) => <line class="tick" x1={x(frame)} x2={x(frame)} y1={38} y2={50} />)}
        {sampling.indices.map((frame, k) => k % every === 0 && <circle class={Math.floor(k / 2) % 2 === 0 ? 'dot text' : 'dot merge'} cx={x(frame)} cy={44} r={5} />)}
        <text x={10} y={76}>0</text>
        <text x={kWidth - 10} y={76} text-anchor="end">{number_text(total - 1)}</text>
      </svg>
    </div>
  );
}

function Groups({ sampling, rows }: { sampling: Sampling; rows: Rows }) {
  const { t, calc } = use_page();
  const size = calc.table.constants.temporal;
  const groups = Array.from({ length: Math.min(sampling.groups, kShown) }, (_, g) => sampling.indices.slice(g * size, (g + 1) * size));
  return (
    <div class="scroll tall" role="region" aria-label={t('video_groups')} tabIndex={0}>
      <table id="video-groups">
        <caption>{t('video_groups')}</caption>
        <thead><tr>{[t('video_group'), t('video_frames'), t('video_stamp'), t('row_per_group')].map((name) => <th scope="col">{name}</th>)}</tr></thead>
        <tbody>
          {groups.map((frames, g) => (
            <tr>
              <th scope="row">{g}</th>
              <td>{frames.join(', ')}{frames.length < size && ` + ${t('video_again', { n: frames[0] })}`}</td>
              <td><code>{`<${sampling.timestamps[g]} seconds>`}</code></td>
              <td class="number">{rows.tokens_per_group}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {sampling.groups > kShown && <p class="small">{t('video_more', { n: sampling.groups - kShown })}</p>}
    </div>
  );
}

export function VideoLab() {
  const page = use_page();
  const { t, calc } = page;
  const [state, set_state] = useState<State>({ ...kDefaults, mode: 'video', n: '291', r: '30', fps: '2', h: '720', w: '1280' });
  const { rows, sampling, problem } = ask(calc, state);
  const at = problem && field_of(problem, kFields);
  const field = (name: (typeof kFields)[number]) => (
    <Field name={name} value={state[name]} set={(value) => set_state({ ...state, [name]: value })}
      problem={at === name && problem ? problem_text(page, problem) : undefined} />
  );
  const longest = rows && sampling ? sampling.timestamps[sampling.timestamps.length - 1] : '';
  return (
    <section class="lab" aria-label={t('title_video')}>
      <div class="four">{kFields.map(field)}</div>
      {rows && sampling && (
        <>
          <p id="video-summary" aria-live="polite">{t('video_summary', { count: sampling.count, total: Number(state.n), groups: sampling.groups, repeated: rows.repeated_frames, H: rows.resized_height, W: rows.resized_width, tokens: rows.visual_tokens, last: longest })}</p>
          <Timeline total={Number(state.n)} sampling={sampling} />
          <p class="small">{t('video_legend')}</p>
          <Groups sampling={sampling} rows={rows} />
        </>
      )}
    </section>
  );
}
