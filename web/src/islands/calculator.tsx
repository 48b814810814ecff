// The calculator: inputs, the rows with the reader's numbers in their formulas, why this size, the command line.
import { useEffect, useRef, useState } from 'preact/hooks';
import { is_qwen, type Problem } from '../calc';
import { Field, Hint, Select } from '../calculator/fields';
import { field_of, problem_text } from '../calculator/problem_text';
import { ResultTable } from '../calculator/result_table';
import { ask, command_of, fields_shown, from_query, kDefaults, kModes, to_query, type FieldName, type State } from '../calculator/state';
import { CopyButton } from '../components/copy_button';
import { number_text } from '../lang';
import { use_page } from '../page_context';

function Inputs({ state, set, problem }: { state: State; set: (change: Partial<State>) => void; problem?: Problem }) {
  const page = use_page();
  const { t, calc } = page;
  const c = calc.table.constants;
  const shown = fields_shown(calc, state);
  const model = calc.model(state.m);
  const qwen = model === undefined || is_qwen(model);
  const at = problem && field_of(problem, ['h', ...shown]);
  const video = state.mode === 'video';
  const hints: Partial<Record<FieldName, string>> = {
    h: state.h === '' ? t('hint_default', { value: c.default_side }) : undefined,
    w: state.w === '' ? t('hint_default', { value: c.default_side }) : undefined,
    f: state.n !== '' && video ? t('hint_frames_chosen') : state.f === '' ? t('hint_default', { value: c.default_frames }) : undefined,
    b: qwen ? t('hint_budget_qwen', { pixels: c.token_pixels }) : t('hint_budget_gemma', { list: c.soft_token_budgets.join(', ') }),
    min: t('hint_default', { value: video ? c.video_min_pixels : c.image_min_pixels }),
    max: t('hint_default', { value: video ? c.video_max_pixels : c.image_max_pixels }),
    n: t('hint_total'),
    r: t('hint_default', { value: c.unknown_rate }),
    fps: t('hint_default', { value: c.default_fps }),
  };
  const field = (name: FieldName) =>
    shown.has(name) && (
      <Field name={name} value={state[name]} hint={hints[name]} problem={at === name && problem ? problem_text(page, problem) : undefined}
        set={(value) => set({ [name]: value })} />
    );
  const ids = calc.table.models.map((entry) => ({ value: entry.id, text: entry.id }));
  return (
    <>
      <fieldset>
        <legend>{t('group_picture')}</legend>
        <Select name="m" value={state.m} options={ids} set={(m) => set({ m, b: '' })} />
        <Select name="mode" value={state.mode} options={kModes.map((mode) => ({ value: mode, text: t(`mode_${mode}`) }))} set={(mode) => set({ mode, b: '' })} />
        {field('h')}
        {field('w')}
        {field('f')}
        <Select name="vs" value={state.vs} options={[{ value: '', text: t('none') }, ...ids]} set={(vs) => set({ vs })} />
      </fieldset>
      {(shown.has('b') || shown.has('min')) && (
        <details class="more" open={Boolean(state.b || state.min || state.max || state.cap) || (at !== undefined && ['b', 'min', 'max', 'cap'].includes(at))}>
          <summary>{t('group_limits')}</summary>
          {field('b')}
          {field('min')}
          {field('max')}
          {shown.has('cap') && (
            <label class="check">
              <input type="checkbox" checked={state.cap === 'true'} onChange={(event) => set({ cap: event.currentTarget.checked ? 'true' : '' })} />
              {t('field_cap')}
            </label>
          )}
        </details>
      )}
      {shown.has('n') && (
        <details class="more" open={Boolean(state.n) || (at !== undefined && ['n', 'r', 'fps', 'k'].includes(at))}>
          <summary>{t('group_choice')}</summary>
          {field('n')}
          {field('r')}
          {field('fps')}
          {field('k')}
        </details>
      )}
      {at === 'm' && problem && <Hint id="problem-m" problem text={problem_text(page, problem)} />}
    </>
  );
}

/** The state of the address, kept in step with it in both directions. */
function use_address_state() {
  const { calc } = use_page();
  const [state, replace] = useState<State>(kDefaults);
  const [refused, set_refused] = useState<string[]>([]);
  useEffect(() => {
    const read = () => {
      const found = from_query(calc, location.search);
      replace(found.state);
      set_refused(found.refused);
    };
    read();
    addEventListener('popstate', read);
    return () => removeEventListener('popstate', read);
  }, []);
  const set = (next: State) => {
    replace(next);
    set_refused([]);
    history.replaceState(null, '', `${location.pathname}${to_query(next)}${location.hash}`);
  };
  return { state, set, refused };
}

export function Calculator() {
  const page = use_page();
  const { t, calc } = page;
  const { state, set, refused } = use_address_state();
  const outcome = ask(calc, state);
  const other = state.vs ? ask(calc, state, state.vs) : undefined;
  const [spoken, speak] = useState('');
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return undefined;
    }
    const said = outcome.rows
      ? `${t('row_tokens')}: ${number_text(outcome.rows.visual_tokens)}; ${number_text(outcome.rows.resized_height)} × ${number_text(outcome.rows.resized_width)}`
      : outcome.problem ? problem_text(page, outcome.problem) : '';
    const timer = setTimeout(() => speak(said), 300); // readers of the screen hear the last word, not every digit
    return () => clearTimeout(timer);
  }, [JSON.stringify(state)]);
  return (
    <section class="calculator" aria-label={t('title_calculator')}>
      <form onSubmit={(event) => event.preventDefault()}>
        <Inputs state={state} set={(change) => set({ ...state, ...change })} problem={outcome.problem} />
        <p class="actions">
          <button type="button" onClick={() => set(kDefaults)}>{t('reset')}</button>
        </p>
      </form>
      <div class="results">
        {refused.length > 0 && <p class="notice" role="status">{t('notice_refused', { list: refused.join(', ') })}</p>}
        <p class="spoken" aria-live="polite">{spoken}</p>
        {outcome.problem && <p class="notice problem">{problem_text(page, outcome.problem)}</p>}
        {other?.problem && <p class="notice problem">{state.vs}: {problem_text(page, other.problem)}</p>}
        {outcome.rows && <ResultTable outcome={outcome} other={other} />}
        <h3>{t('result_command')}</h3>
        <p class="command">
          <code tabIndex={0}>{command_of(calc, state)}</code>
          <CopyButton text={command_of(calc, state)} />
        </p>
        <p class="small">{t('result_link')}</p>
      </div>
    </section>
  );
}
