// One picture through the four routes: what each processor and model makes of the same sides.
import { useState } from 'preact/hooks';
import { Field } from '../calculator/fields';
import { result_rows } from '../calculator/explain';
import { field_of, problem_text } from '../calculator/problem_text';
import { ask, kDefaults } from '../calculator/state';
import { use_page } from '../page_context';

const kRoutes = ['qwen3.5-9b', 'qwen3-vl-8b', 'gemma-4-31b', 'gemma-4-12b'];

export function Compare() {
  const page = use_page();
  const { t, calc } = page;
  const [sides, set_sides] = useState({ h: '1080', w: '1920' });
  const outcomes = kRoutes.map((id) => ask(calc, { ...kDefaults, ...sides, m: id }));
  const columns = outcomes.map((outcome) => new Map(outcome.rows ? result_rows(calc, outcome).map((row) => [row.key, row.value]) : []));
  const keys = [...new Set(columns.flatMap((column) => [...column.keys()]))];
  const field = (name: 'h' | 'w') => {
    const problem = outcomes.map((outcome) => outcome.problem).find((found) => found && field_of(found, ['h', 'w']) === name);
    return <Field name={name} value={sides[name]} set={(value) => set_sides({ ...sides, [name]: value })}
      problem={problem && problem_text(page, problem)} />;
  };
  return (
    <section class="lab" aria-label={t('title_compare')}>
      <div class="two">{field('h')}{field('w')}</div>
      <div class="scroll" role="region" aria-label={t('compare_table')} tabIndex={0}>
        <table id="compare-table">
          <caption>{t('compare_table')}</caption>
          <thead><tr><th scope="col">{t('result_row')}</th>{kRoutes.map((id) => <th scope="col" class="number">{id}</th>)}</tr></thead>
          <tbody>
            {keys.map((key) => (
              <tr class={key === 'row_tokens' ? 'main' : undefined}>
                <th scope="row">{t(key)}</th>
                {columns.map((column, i) => <td class="number">{column.get(key) ?? (outcomes[i].problem ? t('compare_refused') : '–')}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
