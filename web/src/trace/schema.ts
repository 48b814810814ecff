// The document of `sightline trace --json` (docs/trace.md), as recorded for the site or sent by a running engine.

export interface Stats {
  min: number;
  max: number;
  mean: number;
  std: number;
  l2: number;
  nan: number;
  inf: number;
}

export interface Tensor {
  name: string;
  shape: number[];
  dtype: string;
  stats?: Stats;
  histogram?: { min: number; max: number; counts: number[] };
  row_norms?: { max: number; u8: string };
}

export interface Event {
  i: number;
  t_us?: number;
  dur_us?: number;
  kind: 'module' | 'op';
  name: string;
  class: string;
  depth: number;
  stage: 'model' | 'vision' | 'merge' | 'text' | 'head';
  in: Tensor[];
  out: Tensor[];
  params?: number;
  flops?: number;
  weight_bytes?: number;
  caller?: { file: string; line: number };
}

export interface Proof {
  positions: number;
  image_token_id: number;
  image_count: number;
  other_count: number;
  first_positions: number[];
  shapes_equal: boolean | null;
  image_rows_equal_visual: boolean | null;
  image_rows_equal_placeholder: boolean | null;
  other_rows_equal_original: boolean | null;
  ok: boolean | null;
  original: { shape: number[]; sha256?: string };
  visual: { shape: number[]; sha256?: string };
  combined: { shape: number[]; sha256?: string };
}

/** A recorded clip: which frames make each group, the stamp before it, its place in the prompt. */
export interface Clip {
  frames: number;
  rate: number;
  groups: { frames: { index: number; file: string; again: boolean }[]; stamp: string; first: number; tokens: number }[];
}

export interface Trace {
  schema: number;
  engine: { name: string; version: string };
  model: { name: string; config_sha256?: string };
  shapes_only: boolean;
  prompt?: string;
  prompt_tokens: number;
  visual_tokens: number;
  tokens?: { id: number; text: string }[];
  positions?: [number[], number[], number[]];
  rope_delta?: number;
  pictures?: { name: string; grid: [number, number, number]; first: number; tokens: number; runs?: { first: number; tokens: number }[] }[];
  inputs: Tensor[];
  events: Event[];
  totals: { calls: number; parameters: number; flops: number; dur_us?: number; peak_memory_bytes: number };
  proof: Proof | null;
  // Added by the recording.
  question?: string;
  answer?: string;
  command?: string;
  files?: string[];
  clip?: Clip;
}
