// Positions of a prompt with one picture: three lanes over the tokens, the points in space, the axes of the frequencies.
import { useState } from 'preact/hooks';
import { Field } from '../calculator/fields';
import { field_of, problem_text } from '../calculator/problem_text';
import { Space } from '../positions/space';
import { use_page } from '../page_context';

const kModel = 'qwen3.5-2b';
const kMost = 400; // tokens that are drawn and listed
const kNumber = /^\d{1,7}$/;

interface Kind {
  index: number;
  visual: boolean;
  position: [number, number, number];
}

function Lanes({ tokens, highest }: { tokens: Kind[]; highest: number }) {
  const { t } = use_page();
  const width = 720;
  const step = width / tokens.length;
  const names = [t('axis_t'), t('axis_h'), t('axis_w')];
  return (
    <svg class="fig lanes" viewBox={`0 0 ${width + 70} 230`} role="img" aria-label={t('pos_lanes')}>
      {names.map((name, axis) => (
        <g>
          <text x={0} y={48 + axis * 76} class="strong">{name}</text>
          {tokens.map((token, i) => (
            <rect class={token.visual ? 'bar vision' : 'bar text'} x={66 + i * step} width={Math.max(0.8, step - (step > 3 ? 1 : 0))}
              y={70 + axis * 76 - 4 - (60 * token.position[axis]) / Math.max(1, highest)} height={4 + (60 * token.position[axis]) / Math.max(1, highest)} />
          ))}
        </g>
      ))}
    </svg>
  );
}

function Table({ tokens }: { tokens: Kind[] }) {
  const { t } = use_page();
  return (
    <details class="twin">
      <summary>{t('figure_table')}</summary>
      <div class="scroll tall" role="region" aria-label={t('pos_lanes')} tabIndex={0}>
        <table>
          <thead><tr>{[t('pos_index'), t('pos_kind'), t('axis_t'), t('axis_h'), t('axis_w')].map((name) => <th scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {tokens.map((token) => (
              <tr><th scope="row">{token.index}</th><td>{t(token.visual ? 'pos_visual' : 'pos_text')}</td>{token.position.map((value) => <td class="number">{value}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

export function Positions() {
  const page = use_page();
  const { t, calc } = page;
  const [given, set_given] = useState({ before: '4', h: '64', w: '64', after: '12' });
  const value = (name: keyof typeof given, fallback: number) => (kNumber.test(given[name]) ? Number(given[name]) : fallback);
  const before = value('before', 0), after = value('after', 0);
  const answer = calc.calc({ model: kModel, height: value('h', 64), width: value('w', 64) });
  const field = (name: keyof typeof given) => <Field name={name} value={given[name]} set={(text) => set_given({ ...given, [name]: text })}
    problem={!kNumber.test(given[name]) ? t('problem_not_a_number') : answer.problem && field_of(answer.problem, ['h', 'w']) === name ? problem_text(page, answer.problem) : undefined} />;
  const rows = answer.problem ? undefined : answer;
  const segments = rows ? [before, `1x${rows.grid_rows}x${rows.grid_cols}`, after].filter((part) => part !== 0).join(' ') : '';
  const whole = calc.positions({ segments, count: kMost });
  const tokens: Kind[] = rows ? whole.positions.slice(0, whole.length).map((position, index) => ({ index, position, visual: index >= before && index < before + rows.visual_tokens })) : [];
  return (
    <section class="lab" aria-label={t('title_positions')}>
      <div class="four">{field('before')}{field('h')}{field('w')}{field('after')}</div>
      {rows && (
        <>
          <p id="pos-summary" aria-live="polite">{t('pos_summary', { tokens: rows.visual_tokens, rows: rows.grid_rows / calc.table.constants.merge, cols: rows.grid_cols / calc.table.constants.merge, start: before, next: before + rows.details.position_span!, length: whole.length, answer: whole.next_position, delta: whole.delta })}</p>
          {whole.length > kMost && <p class="small">{t('pos_cut', { n: kMost })}</p>}
          <div class="drawing" role="region" aria-label={t('pos_lanes')} tabIndex={0}><Lanes tokens={tokens} highest={whole.next_position} /></div>
          <h2>{t('pos_space')}</h2>
          <p class="prose">{t('pos_space_text')}</p>
          <Space tokens={tokens} />
          <Table tokens={tokens} />
        </>
      )}
    </section>
  );
}
