// Every page and what it shows.
import type { ComponentType } from 'preact';
import type { PageId } from '../lang';
import { CalculatorPage } from './calculator';
import { GuidePage } from './guide';
import { AboutPage, DeepstackPage, HomePage, ReferencesPage, TokensPage } from './short';

const Nothing = () => null;

export const kPageComponents: Record<PageId, ComponentType> = {
  home: HomePage, tokens: TokensPage, deepstack: DeepstackPage, guide: GuidePage, calculator: CalculatorPage, patches: Nothing,
  trace: Nothing, positions: Nothing, layers: Nothing, compare: Nothing, video: Nothing, audit: Nothing, quiz: Nothing,
  references: ReferencesPage, about: AboutPage,
};
