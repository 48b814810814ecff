// The islands by name; each is loaded only by pages that have it.
import type { ComponentType } from 'preact';

export const kIslands = {
  stepper: () => import('./stepper').then((module) => module.Stepper),
  calculator: () => import('./calculator').then((module) => module.Calculator),
  patches: () => import('./patch_lab').then((module) => module.PatchLab),
  positions: () => import('./positions').then((module) => module.Positions),
  video: () => import('./video_lab').then((module) => module.VideoLab),
  compare: () => import('./compare').then((module) => module.Compare),
  layers: () => import('./layers').then((module) => module.Layers),
  trace: () => import('./trace_view').then((module) => module.TraceView),
  quiz: () => import('./quiz').then((module) => module.Quiz),
} satisfies Record<string, () => Promise<ComponentType<any>>>;

export type IslandName = keyof typeof kIslands;
