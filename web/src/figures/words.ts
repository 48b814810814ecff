// The words of drawings in the page's language.
import { kFiguresEn, type FigureKey } from '../content/figures.en';
import { kFiguresZh } from '../content/figures.zh';
import { fill } from '../lang';
import { use_page } from '../page_context';

export const kFigureTexts = { en: kFiguresEn as Record<FigureKey, string>, zh: kFiguresZh };

export function use_words() {
  const { lang } = use_page();
  return (key: FigureKey, values: Record<string, string | number> = {}) => fill(kFigureTexts[lang][key], (name) => values[name]);
}
