// The figures that texts may name: "{red:visual_tokens}". All of them are asked from the engine when a page is written.
import type { Calc, Rows } from './calc';
import { kEngine } from './engine_data';
import { number_text, shape_text, type Lang } from './lang';

type Value = string | number | undefined;

// Worked examples by name: what is asked of the calculator.
const kCases: Record<string, Record<string, string | number>> = {
  red: { model: 'qwen3.5-2b', height: 64, width: 64 },
  big: { model: 'qwen3.5-9b', height: 512, width: 512 },
  odd272: { model: 'qwen3.5-2b', height: 272, width: 272 },
  odd304: { model: 'qwen3.5-2b', height: 304, width: 304 },
  over: { model: 'qwen3.5-9b', height: 3000, width: 20, budget_tokens: 16 },
  hd: { model: 'qwen3.5-9b', height: 1080, width: 1920 },
  gemma: { model: 'gemma-4-31b', height: 512, width: 512 },
  unified: { model: 'gemma-4-12b', height: 512, width: 512 },
};
const kMinute = { total_frames: 1800, native_fps: 30, height: 720, width: 1280 };
const kRow = 17;
const kSegments = '4 1x16x16 12'; // four tokens, a small picture, twelve tokens

function rows_of(calc: Calc, fields: Record<string, string | number>): Rows {
  const answer = calc.calc(fields);
  if (answer.problem) throw new Error(answer.problem.message);
  return answer;
}

function minute_of(calc: Calc) {
  const model = 'qwen3.5-9b';
  const sampling = calc.sample({ model, total_frames: kMinute.total_frames, native_fps: kMinute.native_fps });
  if (sampling.problem) throw new Error(sampling.problem.message);
  const rows = rows_of(calc, { model, mode: 'video', frames: sampling.count, height: kMinute.height, width: kMinute.width });
  return { ...rows, ...sampling };
}

function row_of(calc: Calc) {
  const { grid_rows: h, grid_cols: w } = rows_of(calc, kCases.red);
  const place = calc.place({ h, w, row: kRow });
  const unit = calc.table.constants.unit;
  return { ...place, top: place.y * unit, bottom: (place.y + 1) * unit - 1, left: place.x * unit, right: (place.x + 1) * unit - 1 };
}

function positions_of(calc: Calc) {
  const whole = calc.positions({ segments: kSegments });
  const at = (index: number) => whole.positions[index];
  const visual = rows_of(calc, kCases.red).visual_tokens;
  return {
    length: whole.length, next: whole.next_position, delta: whole.delta, start: at(4)[0], last: at(4 + visual - 1)[1], after: at(4 + visual)[0],
  };
}

function shapes_of(calc: Calc): Record<string, string | number> {
  const { processor_units: units, visual_tokens: tokens, details } = rows_of(calc, kCases.big);
  const model = calc.model(details.model)!;
  const { merge, temporal, unit } = calc.table.constants;
  return {
    big_units_shape: shape_text([units, model.vision_width]),
    big_merged_shape: shape_text([tokens, model.vision_width * merge * merge]),
    big_tokens_shape: shape_text([tokens, model.language_width]),
    row_values: 3 * temporal * unit * unit,
    grid_side: Math.sqrt(kEngine.vision_positions),
  };
}

/** The recorded clip in figures. */
function clip_of(lang: Lang) {
  const { clip, answer } = kEngine.traces.clip;
  const { frames, rate, groups } = clip!;
  return { frames, rate, answer, groups: groups.length, each: groups[0].tokens, stamps: groups.map(({ stamp }) => stamp).join(lang === 'zh' ? '、' : ', ') };
}

/** Looks a name up; nothing if it is unknown. */
export function make_facts(calc: Calc, lang: Lang): (name: string) => Value {
  const groups: Record<string, object> = {
    c: calc.table.constants, minute: minute_of(calc), row17: row_of(calc), pos: positions_of(calc), clip: clip_of(lang), proof: kEngine.traces.red.proof ?? {},
    ...Object.fromEntries(Object.entries(kCases).map(([name, fields]) => [name, rows_of(calc, fields)])),
  };
  const shapes = shapes_of(calc);
  return (name) => {
    const [group, key, field] = name.split(':');
    if (key === undefined) return shapes[group];
    if (group === 'm') {
      const value = calc.model(key)?.[field as 'patch'] as number | number[] | undefined;
      return Array.isArray(value) ? value.map((entry) => number_text(entry)).join(lang === 'zh' ? '、' : ', ') : value;
    }
    if (group === 'param') return kEngine.models.find((model) => model.name === key)?.parameters[field as 'total'];
    return (groups[group] as Record<string, Value> | undefined)?.[key];
  };
}
