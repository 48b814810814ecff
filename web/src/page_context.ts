// What every component may ask: the language, the page, texts and values. Set by the renderer and by each island.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Calc } from './calc';
import type { UiKey } from './content/ui.en';
import { fill, link, type Lang, type PageId } from './lang';

export type Ui = Record<UiKey, string>;

export interface PageContext {
  lang: Lang;
  page: PageId;
  ui: Ui;
  calc: Calc;
}

export const Page = createContext<PageContext>(null as unknown as PageContext);

export interface PageTools extends PageContext {
  /** A text of the interface, with values put in. */
  t(key: UiKey, values?: Record<string, string | number>): string;
  to(page: PageId, anchor?: string): string;
}

export function use_page(): PageTools {
  const context = useContext(Page);
  return {
    ...context,
    t: (key, values = {}) => fill(context.ui[key], (name) => values[name]),
    to: (page, anchor) => link(context.page, context.lang, page, anchor),
  };
}
