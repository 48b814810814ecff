// What the engine said while the site was built (scripts/record.mjs). Read by the renderer only; pages fetch the same
// files from data/.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Trace } from './trace/schema';

const read = (name: string) => JSON.parse(readFileSync(resolve(import.meta.dirname, `../engine/${name}.json`), 'utf8'));

export interface PublishedModel {
  name: string;
  model_type: string;
  figures: { path: string; value: number | boolean; source: string }[];
  parameters: { vision: number; language: number; head: number; mtp: number; total: number };
  tensors: number;
}

export interface Graph {
  title: string;
  nodes: { id: string; title: string; lines: string[]; channel: string }[];
  edges: { from: string; to: string; label?: string }[];
}

interface Inspection {
  report: { config_class: string; processor_class: string; tied_head: boolean };
  children: { name: string; class: string; parameters: number }[];
  same_object: boolean;
  modules: { path: string; class: string; extra: string; parameters: number; tensors: { name: string; shape: number[] }[] }[];
}

export interface HiddenState {
  name: string;
  shape: number[];
  dtype: string;
  tower: string;
  from: string;
  width: number;
  same_as: string[];
}

/** Kinds of a model's language layers, the weights of a layer of each kind, and what its cache costs. */
export interface LayerMap {
  name: string;
  kinds: ('linear' | 'full')[];
  weights: Record<'linear' | 'full', { name: string; shape: number[] }[]>;
  per_token: number;
  constant: number;
}

const inspection = read('inspect') as Inspection;
const positions = inspection.modules.find((module) => module.path === 'model.visual.pos_embed');

export const kEngine = {
  models: (read('models') as { models: PublishedModel[] }).models,
  graph: read('graph') as Graph,
  inspection,
  layers: read('layers') as LayerMap[],
  hidden: (read('hidden') as { states: HiddenState[] }).states,
  vision_positions: positions?.tensors[0].shape[0] ?? 0,
  traces: { red: read('red'), scene: read('scene'), photo: read('photo'), two: read('two'), clip: read('clip'), shapes: read('shapes') } as Record<string, Trace>,
};
