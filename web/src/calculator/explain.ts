// Why a result is what it is: the formulas with the reader's numbers put in. The last number of every line is the
// engine's own row (tests hold both together); the steps before it are arithmetic for the eye.
import { is_qwen, type Calc, type Model, type Rows } from '../calc';
import type { UiKey } from '../content/ui.en';
import type { ReferenceId } from '../content/references';
import { number_text, shape_text } from '../lang';
import type { Outcome } from './state';

export interface Step {
  label: UiKey;
  math: string;
}

const n = (value: number) => number_text(value, 4);
const times = (count: number) => (count > 1 ? `${n(count)}·` : '');
const kBetween = ',  '; // stands between height and width of one line

/** As Python rounds: a half goes to the even neighbour. */
export function half_even(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}

interface Limits {
  min: number;
  max: number;
  frames: number;
  slices: number;
}

function limits_of(calc: Calc, outcome: Outcome, rows: Rows): Limits {
  const c = calc.table.constants;
  const image = rows.details.mode === 'image';
  const frames = rows.details.frames;
  return {
    min: Number(outcome.fields.min_pixels || (image ? c.image_min_pixels : c.video_min_pixels)),
    max: rows.details.budget ?? 0,
    frames: image ? 1 : frames,
    slices: image ? 1 : half_even(frames / c.temporal) * c.temporal,
  };
}

/** Sides after a clip's first enlargement. */
function start_sides(rows: Rows, height: number, width: number, factor: number): [number, number] {
  if (!rows.details.enlarged_first) return [height, width];
  const scale = Math.max(factor / height, factor / width);
  return [Math.floor(height * scale), Math.floor(width * scale)];
}

function qwen_steps(calc: Calc, outcome: Outcome, rows: Rows): Step[] {
  const f = calc.table.constants.qwen_factor;
  const given: [number, number] = [Number(outcome.fields.height), Number(outcome.fields.width)];
  const { min, max, frames, slices } = limits_of(calc, outcome, rows);
  const [h, w] = start_sides(rows, ...given, f);
  const steps: Step[] = [];
  if (rows.details.enlarged_first) {
    steps.push({ label: 'step_enlarged', math: `${given.map(n).join(' × ')} → ${n(h)} × ${n(w)}` });
  }
  const ratio = Math.max(h, w) / Math.min(h, w);
  steps.push({ label: 'step_ratio', math: `${n(Math.max(h, w))} / ${n(Math.min(h, w))} = ${n(ratio)} ≤ ${n(calc.table.constants.max_aspect_ratio)}` });
  const [hb, wb] = [half_even(h / f) * f, half_even(w / f) * f];
  steps.push({ label: 'step_round', math: `round(${n(h)}/${f})·${f} = ${n(hb)},  round(${n(w)}/${f})·${f} = ${n(wb)}` });
  const area = slices * hb * wb;
  const product = `${times(slices)}${n(hb)}·${n(wb)}`;
  if (rows.details.size_rule === 'shrunk to max') {
    const beta = Math.sqrt((frames * h * w) / max);
    steps.push({ label: 'step_too_large', math: `${product} = ${n(area)} > ${n(max)}` });
    steps.push({ label: 'step_beta', math: `β = √(${times(frames)}${n(h)}·${n(w)} / ${n(max)}) = ${n(beta)}` });
    steps.push({ label: 'step_floor', math: `H = max(${f}, ⌊${n(h)}/β/${f}⌋·${f}) = ${n(Math.max(f, Math.floor(h / beta / f) * f))},  W = max(${f}, ⌊${n(w)}/β/${f}⌋·${f}) = ${n(Math.max(f, Math.floor(w / beta / f) * f))}` });
  } else if (rows.details.size_rule === 'grown to min') {
    const beta = Math.sqrt(min / (frames * h * w));
    steps.push({ label: 'step_too_small', math: `${product} = ${n(area)} < ${n(min)}` });
    steps.push({ label: 'step_beta', math: `β = √(${n(min)} / (${times(frames)}${n(h)}·${n(w)})) = ${n(beta)}` });
    steps.push({ label: 'step_ceil', math: `H = ⌈${n(h)}·β/${f}⌉·${f} = ${n(Math.ceil((h * beta) / f) * f)},  W = ⌈${n(w)}·β/${f}⌉·${f} = ${n(Math.ceil((w * beta) / f) * f)}` });
  } else {
    steps.push({ label: 'step_fits', math: `${n(min)} ≤ ${product} = ${n(area)} ≤ ${n(max)}` });
  }
  return steps;
}

function gemma_steps(calc: Calc, outcome: Outcome, rows: Rows): Step[] {
  const { unit, pool, gemma_factor: f } = calc.table.constants;
  const [h, w] = [Number(outcome.fields.height), Number(outcome.fields.width)];
  const budget = rows.details.budget ?? 0;
  const pixels = budget * pool * pool * unit * unit;
  const phi = Math.sqrt(pixels / (h * w));
  const steps: Step[] = [
    { label: 'step_pixels', math: `${n(budget)}·${pool * pool}·${unit * unit} = ${n(pixels)}` },
    { label: 'step_phi', math: `φ = √(${n(pixels)} / (${n(h)}·${n(w)})) = ${n(phi)}` },
    { label: 'step_floor', math: `⌊φ·${n(h)}/${f}⌋·${f} = ${n(Math.floor((phi * h) / f) * f)},  ⌊φ·${n(w)}/${f}⌋·${f} = ${n(Math.floor((phi * w) / f) * f)}` },
  ];
  if (rows.details.size_rule === 'one block thick') {
    const blocks = Math.min(Math.floor(Math.max(h, w) / Math.min(h, w)), budget);
    steps.push({ label: 'step_strip', math: `min(⌊${n(Math.max(h, w))}/${n(Math.min(h, w))}⌋, ${n(budget)})·${f} = ${n(blocks * f)}` });
  }
  return steps;
}

/** From the sides given to the sides used, in order. */
export function size_steps(calc: Calc, outcome: Outcome): Step[] {
  const rows = outcome.rows;
  const model = rows && calc.model(rows.details.model);
  if (!rows || !model || rows.details.size_rule === 'as given') return [];
  return is_qwen(model) ? qwen_steps(calc, outcome, rows) : gemma_steps(calc, outcome, rows);
}

export interface ResultRow {
  key: UiKey;
  value: string;
  math: string;
  source: ReferenceId;
}

function size_source(model: Model, mode: string): ReferenceId {
  if (mode === 'video-prepared') return 'own-rule';
  if (!is_qwen(model)) return 'gemma-size';
  return mode === 'image' ? 'qwen-image-size' : 'qwen-video-size';
}

/** The formulas of height and width: the last lines of the way to the size, where they end in it. */
function side_formulas(calc: Calc, outcome: Outcome): [string, string] {
  const { resized_height, resized_width } = outcome.rows!;
  const last = size_steps(calc, outcome).filter(({ label }) => ['step_round', 'step_floor', 'step_ceil'].includes(label)).pop();
  const parts = last?.math.split(kBetween) ?? [];
  const formula = (name: string, part: string | undefined, side: number) => (part?.endsWith(` = ${n(side)}`) ? part : `${name} = ${n(side)}`);
  return [formula('H', parts[0], resized_height), formula('W', parts[1], resized_width)];
}

/** The rows of the calculator in order, of an outcome that has some; `math` is the formula with numbers. */
export function result_rows(calc: Calc, outcome: Outcome): ResultRow[] {
  const r = outcome.rows!;
  const [height, width] = side_formulas(calc, outcome);
  const c = calc.table.constants;
  const model = calc.model(r.details.model)!;
  const qwen = is_qwen(model);
  const unified = model.family === 'gemma4_unified';
  const size = size_source(model, r.details.mode);
  const grid: ReferenceId = qwen ? (r.details.mode === 'image' ? 'qwen-patches' : 'qwen-video-patches') : 'gemma-tokens';
  const groups = r.temporal_groups;
  const units = `(${n(r.resized_height)}/${c.unit})·(${n(r.resized_width)}/${c.unit})·${n(groups)} = ${n(r.processor_units)}`;
  const frames = r.details.frames;
  const per_token = qwen ? c.merge * c.merge : c.pool * c.pool;
  const rows: ResultRow[] = [
    { key: 'row_height', value: n(r.resized_height), math: height, source: size },
    { key: 'row_width', value: n(r.resized_width), math: width, source: size },
    { key: 'row_groups', value: n(groups), math: qwen ? `⌈${n(frames)}/${c.temporal}⌉ = ${n(groups)}` : `${n(frames)} = ${n(groups)}`, source: grid },
    { key: 'row_repeated', value: n(r.repeated_frames), math: qwen ? `${n(groups)}·${c.temporal} − ${n(frames)} = ${n(r.repeated_frames)}` : '0', source: grid },
    { key: 'row_grid_rows', value: n(r.grid_rows), math: `${n(r.resized_height)}/${model.patch} = ${n(r.grid_rows)}`, source: grid },
    { key: 'row_grid_cols', value: n(r.grid_cols), math: `${n(r.resized_width)}/${model.patch} = ${n(r.grid_cols)}`, source: grid },
    { key: 'row_units', value: n(r.processor_units), math: units, source: grid },
    { key: 'row_positions', value: n(r.model_patch_positions), math: unified ? `${n(r.processor_units)}/${per_token} = ${n(r.model_patch_positions)}` : `${n(r.processor_units)} = ${n(r.model_patch_positions)}`, source: grid },
    { key: 'row_tokens', value: n(r.visual_tokens), math: unified ? `${n(r.model_patch_positions)} = ${n(r.visual_tokens)}` : `${n(r.processor_units)}/${per_token} = ${n(r.visual_tokens)}`, source: grid },
    { key: 'row_shape', value: shape_text(r.llm_shape), math: `[${n(r.visual_tokens)}, ${n(model.language_width)}]`, source: 'config' },
    { key: 'row_scalars', value: n(r.scalars), math: `${n(r.visual_tokens)}·${n(model.language_width)} = ${n(r.scalars)}`, source: 'own-rule' },
  ];
  return [...rows, ...further_rows(calc, outcome, model, grid)];
}

function further_rows(calc: Calc, outcome: Outcome, model: Model, grid: ReferenceId): ResultRow[] {
  const r = outcome.rows!;
  const c = calc.table.constants;
  const rows: ResultRow[] = [];
  const { frames, budget } = r.details;
  if (r.pixel_values_shape) {
    const shape = shape_text(r.pixel_values_shape);
    const slots = model.family === 'gemma4_unified' ? n(budget ?? 0) : `${n(budget ?? 0)}·${c.pool * c.pool}`;
    const sizes = is_qwen(model) ? `${n(r.processor_units)}, 3·${c.temporal}·${c.unit}²` : `${n(frames)}, ${slots}, 3·${model.patch}²`;
    rows.push({ key: 'row_pixel_values', value: shape, math: `[${sizes}] = ${shape}`, source: grid });
  }
  const thw = r.image_grid_thw ?? r.video_grid_thw;
  if (thw) rows.push({ key: 'row_thw', value: shape_text(thw), math: `[${n(thw[0])}, ${n(r.resized_height)}/${c.unit}, ${n(r.resized_width)}/${c.unit}] = ${shape_text(thw)}`, source: grid });
  if (r.padding_slots !== undefined && r.pixel_values_shape) {
    const [pictures, slots] = r.pixel_values_shape;
    rows.push({ key: 'row_padding', value: n(r.padding_slots), math: `${n(pictures)}·${n(slots)} − ${n(r.model_patch_positions)} = ${n(r.padding_slots)}`, source: grid });
  }
  if (r.tokens_per_group !== undefined) {
    rows.push({ key: 'row_per_group', value: n(r.tokens_per_group), math: `${n(r.visual_tokens)}/${n(r.temporal_groups)} = ${n(r.tokens_per_group)}`, source: grid });
  }
  const outer = r.details.prompt_tokens - r.visual_tokens - 2 * r.temporal_groups;
  rows.push({ key: 'row_prompt', value: n(r.details.prompt_tokens), math: `${n(r.visual_tokens)} + 2·${n(r.temporal_groups)}${outer ? ` + ${outer}` : ''} = ${n(r.details.prompt_tokens)}`, source: is_qwen(model) ? 'processor' : grid });
  if (r.details.position_span !== undefined) {
    rows.push({ key: 'row_span', value: n(r.details.position_span), math: `max(${n(r.grid_rows)}, ${n(r.grid_cols)})/${c.merge} = ${n(r.details.position_span)}`, source: 'rope-index' });
  }
  const given = [outcome.fields.height, outcome.fields.width].map((side) => n(Number(side)));
  const per_token = number_text(r.details.pixels_per_token, 1);
  rows.push({ key: 'row_per_token', value: per_token, math: `${times(frames)}${given.join('·')}/${n(r.visual_tokens)} = ${per_token}`, source: 'own-rule' });
  if (budget) {
    const share = `${number_text(100 * (r.details.budget_share ?? 0), 1)} %`;
    const slices = r.details.mode === 'image' ? 1 : r.temporal_groups * c.temporal;
    const used = is_qwen(model) ? `${times(slices)}${n(r.resized_height)}·${n(r.resized_width)}` : n(r.visual_tokens / r.temporal_groups);
    rows.push({ key: 'row_share', value: share, math: `${used}/${n(budget)} = ${share}`, source: 'own-rule' });
  }
  return rows;
}
