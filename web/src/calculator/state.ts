// What the reader has put into the calculator: fields as typed, their way into the address and to the engine.
import { is_qwen, type Answer, type Calc, type Fields, type Problem, type Rows, type Sampling } from '../calc';

export const kFieldNames = ['m', 'mode', 'h', 'w', 'f', 'b', 'min', 'max', 'cap', 'n', 'r', 'fps', 'k', 'vs'] as const;
export type FieldName = (typeof kFieldNames)[number];
export type State = Record<FieldName, string>;

export const kModes = ['image', 'video', 'video-prepared'] as const;

export const kDefaults: State = {
  m: 'qwen3.5-9b', mode: 'image', h: '512', w: '512', f: '2', b: '', min: '', max: '', cap: '', n: '', r: '', fps: '',
  k: '', vs: '',
};

/** Which field of the form an input of the engine is. */
export const kFieldOf: Record<string, FieldName> = {
  model: 'm', mode: 'mode', height: 'h', width: 'w', frames: 'f', budget_tokens: 'b', soft_token_budget: 'b',
  min_pixels: 'min', max_pixels: 'max', cap_pixels_per_frame: 'cap', total_frames: 'n', native_fps: 'r', fps: 'fps',
  num_frames: 'k',
};

const kRates: readonly FieldName[] = ['r', 'fps'];
const known_value = (calc: Calc, name: FieldName, value: string): boolean => {
  if (name === 'm' || name === 'vs') return calc.model(value) !== undefined;
  if (name === 'mode') return (kModes as readonly string[]).includes(value);
  if (name === 'cap') return value === 'true';
  if (value === '') return true;
  return (kRates.includes(name) ? /^\d{1,9}(\.\d{1,9})?$/ : /^\d{1,13}$/).test(value);
};

/** The state of an address; names of values that made no sense and were left at their default. */
export function from_query(calc: Calc, query: string): { state: State; refused: string[] } {
  const state = { ...kDefaults };
  const refused: string[] = [];
  for (const [name, value] of new URLSearchParams(query)) {
    if (!(kFieldNames as readonly string[]).includes(name)) continue;
    if (known_value(calc, name as FieldName, value)) state[name as FieldName] = value;
    else refused.push(`${name}=${value.slice(0, 24)}`);
  }
  return { state, refused };
}

export function to_query(state: State): string {
  const query = new URLSearchParams();
  for (const name of kFieldNames) if (state[name] !== kDefaults[name]) query.set(name, state[name]);
  const text = query.toString();
  return text && `?${text}`;
}

/** Fields that mean something for this model and mode. */
export function fields_shown(calc: Calc, state: State): Set<FieldName> {
  const model = calc.model(state.m);
  const qwen = model === undefined || is_qwen(model);
  const shown = new Set<FieldName>(['m', 'mode', 'h', 'w', 'vs']);
  if (state.mode !== 'image') shown.add('f');
  if (state.mode === 'video-prepared') return shown;
  if (!qwen || state.mode === 'image') shown.add('b');
  if (qwen) for (const name of ['min', 'max'] as const) shown.add(name);
  if (state.mode === 'video') {
    for (const name of ['n', 'r', 'k'] as const) shown.add(name);
    if (qwen) for (const name of ['fps', 'cap'] as const) shown.add(name);
  }
  return shown;
}

export interface Outcome {
  rows?: Rows;
  sampling?: Sampling;
  problem?: Problem;
  fields: Fields;
}

const good = <T,>(answer: Answer<T>): answer is T & { problem?: undefined } => answer.problem === undefined;

/** Asks the engine; frames are sampled first where a whole clip is described. */
export function ask(calc: Calc, state: State, model_id = state.m): Outcome {
  const own: State = { ...state, m: model_id };
  const shown = fields_shown(calc, own);
  const value = (name: FieldName) => (shown.has(name) ? own[name] : '');
  const model = calc.model(model_id);
  const qwen = model === undefined || is_qwen(model);
  const { default_side } = calc.table.constants;
  const fields: Fields = {
    model: model_id, mode: own.mode, height: own.h || default_side, width: own.w || default_side, frames: value('f'),
    [qwen ? 'budget_tokens' : 'soft_token_budget']: value('b'), min_pixels: value('min'), max_pixels: value('max'),
    cap_pixels_per_frame: value('cap'),
  };
  let sampling: Sampling | undefined;
  if (value('n')) {
    const answer = calc.sample({
      model: model_id, total_frames: own.n, native_fps: value('r'), fps: value('fps'), num_frames: value('k'),
    });
    if (!good(answer)) return { problem: answer.problem, fields };
    sampling = answer;
    fields.frames = sampling.count;
  }
  const answer = calc.calc(fields);
  if (sampling && answer.problem?.input === 'frames') answer.problem.input = 'total_frames'; // the frames follow from the clip
  return good(answer) ? { rows: answer, sampling, fields } : { problem: answer.problem, sampling, fields };
}

/** A value as a shell passes it on; digits stay as they are. */
const shell_word = (value: string) => (/^[\w.,-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`);

/** The same question to the command line. */
export function command_of(calc: Calc, state: State): string {
  const shown = fields_shown(calc, state);
  const options: [FieldName, string][] = [
    ['f', '--frames'], ['b', '--budget'], ['min', '--min-pixels'], ['max', '--max-pixels'], ['n', '--total-frames'],
    ['r', '--native-fps'], ['fps', '--fps'], ['k', '--num-frames'],
  ];
  let text = `sightline calc --model ${state.m}`;
  if (state.mode !== 'image') text += ` --mode ${state.mode}`;
  for (const [name, option] of [['h', '--height'], ['w', '--width']] as const) if (state[name] !== '') text += ` ${option} ${shell_word(state[name])}`;
  const sampled = shown.has('n') && state.n !== '';
  for (const [name, option] of options) {
    if (!shown.has(name) || state[name] === '' || (name === 'f' && sampled)) continue;
    if (!sampled && ['r', 'fps', 'k'].includes(name)) continue;
    text += ` ${option} ${shell_word(state[name])}`;
  }
  return shown.has('cap') && state.cap ? `${text} --cap-pixels-per-frame` : text;
}
