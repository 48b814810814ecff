// The islands by name; each is loaded only by pages that have it.
import type { ComponentType } from 'preact';

export const kIslands = {
  stepper: () => import('./stepper').then((module) => module.Stepper),
  calculator: () => import('./calculator').then((module) => module.Calculator),
} satisfies Record<string, () => Promise<ComponentType<any>>>;

export type IslandName = keyof typeof kIslands;
