// Every page and what it shows.
import type { ComponentType } from 'preact';
import type { PageId } from '../lang';
import { AuditPage } from './audit';
import { GuidePage } from './guide';
import { CalculatorPage, ComparePage, LayersPage, PatchesPage, PositionsPage, QuizPage, TracePage, VideoPage } from './labs';
import { AboutPage, DeepstackPage, HomePage, ReferencesPage, TokensPage } from './short';

export const kPageComponents: Record<PageId, ComponentType> = {
  home: HomePage, tokens: TokensPage, deepstack: DeepstackPage, guide: GuidePage, calculator: CalculatorPage, patches: PatchesPage,
  trace: TracePage, positions: PositionsPage, layers: LayersPage, compare: ComparePage, video: VideoPage, audit: AuditPage,
  quiz: QuizPage, references: ReferencesPage, about: AboutPage,
};
