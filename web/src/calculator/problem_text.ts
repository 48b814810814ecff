// What is wrong with an input, in the reader's language: from the engine's code and numbers.
import type { Problem } from '../calc';
import type { UiKey } from '../content/ui.en';
import { number_text } from '../lang';
import type { PageTools } from '../page_context';
import { kFieldOf, type FieldName } from './state';

/** The text for a problem; a range without numbers means that no number was given. */
function key_of({ code, input, high }: Problem): UiKey {
  const rate = input === 'native_fps' || input === 'fps';
  if (code !== 'out_of_range') return `problem_${code}` as UiKey;
  if (high === 0) return rate ? 'problem_not_a_rate' : 'problem_not_a_number';
  if (rate) return 'problem_rate_range';
  return input.includes('*') ? 'problem_too_many_pixels' : 'problem_out_of_range';
}

export function problem_text({ t, calc }: PageTools, problem: Problem): string {
  const { models, constants } = calc.table;
  const list = problem.code === 'bad_budget' ? constants.soft_token_budgets.join(', ') : models.map((model) => model.id).join(', ');
  return t(key_of(problem), { list, low: problem.low, high: problem.high, found: number_text(problem.found, 1) });
}

/** The field of a form beside which a problem is explained: its own, or one that the form has. */
export function field_of(problem: Problem, fields: readonly FieldName[]): FieldName {
  const own = kFieldOf[problem.input];
  return own && fields.includes(own) ? own : fields[0];
}
