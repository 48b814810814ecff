// The calculator of the engine (web/wasm/module.cpp over src/calc) behind one function. Figures come from it alone.

export interface Problem {
  code: string;
  input: string;
  found: number;
  low: number;
  high: number;
  message: string;
  hint: string;
}

export interface Details {
  model: string;
  mode: string;
  size_rule: string;
  enlarged_first: boolean;
  frames: number;
  prompt_tokens: number;
  pixels_per_token: number;
  position_span?: number;
  budget?: number;
  budget_unit?: string;
  budget_share?: number;
  budget_below_minimum?: boolean;
}

/** Rows of `sightline calc --json`. */
export interface Rows {
  resized_height: number;
  resized_width: number;
  temporal_groups: number;
  repeated_frames: number;
  grid_rows: number;
  grid_cols: number;
  processor_units: number;
  model_patch_positions: number;
  visual_tokens: number;
  llm_shape: [number, number];
  scalars: number;
  pixel_values_shape?: number[];
  image_grid_thw?: [number, number, number];
  video_grid_thw?: [number, number, number];
  padding_slots?: number;
  tokens_per_group?: number;
  details: Details;
}

export interface Sampling {
  count: number;
  first: number;
  last: number;
  groups: number;
  rate: number;
  indices: number[];
  timestamps: string[];
}

export interface Positions {
  length: number;
  next_position: number;
  delta: number;
  positions: [number, number, number][];
}

export interface Place {
  row: number;
  group: number;
  y: number;
  x: number;
  slot: number;
  token: number;
}

export interface Model {
  id: string;
  family: 'qwen3_5' | 'qwen3_vl' | 'gemma4' | 'gemma4_unified';
  patch: number;
  vision_depth: number;
  vision_width: number;
  language_width: number;
  operation: string;
  deepstack: number[];
}

export interface Table {
  models: Model[];
  constants: Record<string, number> & { soft_token_budgets: number[] };
}

export type Fields = Record<string, string | number | undefined>;
export type Answer<T> = (T & { problem?: undefined }) | { problem: Problem };

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  sl_buffer(): number;
  sl_run(length: number): number;
}

const kReal = /^\d{1,9}(\.\d{1,9})?$/;

/** A real number that was typed and is none: the same problem as the module's for integers. */
function typed_problem(fields: Fields): Problem | undefined {
  const [input, value] = Object.entries(fields).find(([, text]) => typeof text === 'string' && text !== '' && !kReal.test(text)) ?? [];
  return input === undefined ? undefined : { code: 'out_of_range', input, found: 0, low: 0, high: 0, message: `${input}: expected a number, found '${value}'`, hint: '' };
}

/** Bits of a double in hexadecimal: how real numbers travel to the module. */
export function bits(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16);
}

export class Calc {
  readonly table: Table;

  private constructor(private readonly module: Exports) {
    this.table = this.run<Table>('models', {}) as Table;
  }

  static async load(bytes: BufferSource): Promise<Calc> {
    const nothing = () => 0; // the runtime's file functions, which the calculator never calls
    const wasi = new Proxy({}, { get: () => nothing });
    const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: wasi });
    const module = instance.exports as unknown as Exports;
    module._initialize();
    return new Calc(module);
  }

  calc = (fields: Fields) => this.run<Rows>('calc', fields);
  positions = (fields: Fields) => this.run<Positions>('positions', fields) as Positions;
  place = (fields: Fields) => this.run<Place>('place', fields) as Place;
  stamp = (first: number, last: number, rate: number) =>
    (this.run<{ stamp: string }>('stamp', { first, last, rate: bits(rate) }) as { stamp: string }).stamp;

  sample({ native_fps, fps, ...rest }: Fields): Answer<Sampling> {
    const problem = typed_problem({ native_fps, fps });
    if (problem) return { problem };
    const real = (value: string | number | undefined) => (value === undefined || value === '' ? undefined : bits(Number(value)));
    return this.run<Sampling>('sample', { ...rest, native_fps: real(native_fps), fps: real(fps) });
  }

  model(id: string): Model | undefined {
    return this.table.models.find((model) => model.id === id);
  }

  private run<T>(operation: string, fields: Fields): Answer<T> {
    const lines = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
    const request = new TextEncoder().encode([operation, ...lines.map(([key, value]) => `${key}=${value}`)].join('\n'));
    const at = this.module.sl_buffer();
    new Uint8Array(this.module.memory.buffer, at, request.length).set(request);
    const length = this.module.sl_run(request.length);
    if (length === 0) throw new Error(`calculator: no answer to ${operation}`);
    return JSON.parse(new TextDecoder().decode(new Uint8Array(this.module.memory.buffer, at, length))) as Answer<T>;
  }
}

export const is_qwen = (model: Model) => model.family === 'qwen3_5' || model.family === 'qwen3_vl';
