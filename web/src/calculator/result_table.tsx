// The rows of a calculation, beside those of a second model where one is chosen, and the way to the size.
import { is_qwen } from '../calc';
import { Name } from '../components/inline';
import { kReferences, title_of } from '../content/references';
import type { UiKey } from '../content/ui.en';
import { use_page } from '../page_context';
import { result_rows, size_steps } from './explain';
import type { Outcome } from './state';

const kBranch: Record<string, UiKey> = {
  'as given': 'branch_given', rounded: 'branch_rounded', 'shrunk to max': 'branch_shrunk', 'grown to min': 'branch_grown',
  'fitted to budget': 'branch_fitted', 'one block thick': 'branch_strip',
};

function Why({ outcome }: { outcome: Outcome }) {
  const { t, calc } = use_page();
  const rows = outcome.rows!;
  const { qwen_factor, gemma_factor } = calc.table.constants;
  const factor = is_qwen(calc.model(rows.details.model)!) ? qwen_factor : gemma_factor;
  return (
    <>
      <h3>{t('result_why')}</h3>
      <p id="branch">{t(kBranch[rows.details.size_rule], { factor })}</p>
      <dl class="steps">
        {size_steps(calc, outcome).map((step) => (
          <div>
            <dt>{t(step.label)}</dt>
            <dd><span class="math">{step.math}</span></dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Notes({ outcome }: { outcome: Outcome }) {
  const { t } = use_page();
  const { repeated_frames, details } = outcome.rows!;
  const notes: UiKey[] = ['note_shapes'];
  if (repeated_frames > 0) notes.unshift('note_repeated');
  if (details.budget_below_minimum) notes.unshift('note_below');
  else if ((details.budget_share ?? 0) > 1) notes.unshift('note_over');
  return <ul class="small notes">{notes.map((key) => <li>{t(key)}</li>)}</ul>;
}

export function ResultTable({ outcome, other }: { outcome: Outcome; other?: Outcome }) {
  const { t, to, calc, lang } = use_page();
  const rows = result_rows(calc, outcome);
  const second = other?.rows && new Map(result_rows(calc, other).map((row) => [row.key, row.value]));
  const name = outcome.rows!.details.model;
  return (
    <>
      <div class="scroll" role="region" aria-label={t('result')} tabIndex={0}>
        <table class={second ? 'rows both' : 'rows'} id="result">
          <caption>{t('result')}: {name}</caption>
          <thead>
            <tr>
              <th scope="col">{t('result_row')}</th>
              <th scope="col" class="number">{second ? name : t('result_value')}</th>
              {second && <th scope="col" class="number">{other!.rows!.details.model}</th>}
              <th scope="col">{t('result_formula')}</th>
              <th scope="col">{t('source')}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr class={row.key === 'row_tokens' ? 'main' : undefined} data-row={row.key}>
                <th scope="row">{t(row.key)}</th>
                <td class="number">{row.value}</td>
                {second && <td class="number">{second.get(row.key) ?? '–'}</td>}
                <td class="math">{row.math}</td>
                <td><a href={to('references', `ref-${row.source}`)}><Name text={title_of(kReferences[row.source], lang)} /></a></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Why outcome={outcome} />
      <Notes outcome={outcome} />
    </>
  );
}
