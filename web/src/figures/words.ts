// The words of drawings in the page's language.
import { kFiguresEn, type FigureKey } from '../content/figures.en';
import { kFiguresZh } from '../content/figures.zh';
import { fill } from '../lang';
import { use_page } from '../page_context';

export const kFigureTexts = { en: kFiguresEn as Record<FigureKey, string>, zh: kFiguresZh };

/** What the engine's graph says, in Chinese; class names, shapes and names of tensors stay. */
const kGraphZh: [RegExp, string][] = [
  [/^patches of the picture$/, '图片的图块'], [/^(\d+) placeholders \+ (\d+) others$/, '$1 个占位符 + $2 个其他'], [/^(\d+) rows replaced$/, '替换 $1 行'],
  [/^(\d+) × vision block$/, '$1 × 视觉块'], [/^(\d+) × decoder layer$/, '$1 × 解码层'], [/^hidden (\d+)$/, '隐藏宽度 $1'], [/^insertion$/, '插入'],
];

/** A line of the graph in the page's language. */
export function use_graph_words() {
  const { lang } = use_page();
  return (line: string) => (lang === 'zh' ? kGraphZh.reduce((text, [pattern, words]) => text.replace(pattern, words), line) : line);
}

export function use_words() {
  const { lang } = use_page();
  return (key: FigureKey, values: Record<string, string | number> = {}) => fill(kFigureTexts[lang][key], (name) => values[name]);
}
