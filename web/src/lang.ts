// Languages, pages and the paths between them; numbers as both languages write them.

export type Lang = 'en' | 'zh';
export const kLangs: readonly Lang[] = ['en', 'zh'];
export const kHtmlLang: Record<Lang, string> = { en: 'en', zh: 'zh-Hans' };

export const kPages = [
  'home', 'tokens', 'deepstack', 'guide', 'calculator', 'patches', 'trace', 'positions', 'layers', 'compare', 'video',
  'audit', 'quiz', 'references', 'about',
] as const;
export type PageId = (typeof kPages)[number];

/** Folder of a page below its language; the home page is the language's own folder. */
export const slug = (page: PageId) => (page === 'home' ? '' : `${page}/`);

/** From a page up to the folder of the site. */
export const root_of = (page: PageId) => (page === 'home' ? '../' : '../../');

export const link = (from: PageId, lang: Lang, to: PageId, anchor = '') =>
  `${root_of(from)}${lang}/${slug(to)}${anchor && '#'}${anchor}`;

/** 4177920 as 4,177,920; fractions keep at most `digits` places. */
export function number_text(value: number, digits = 3): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

export const shape_text = (shape: readonly number[]) => `[${shape.map((size) => number_text(size)).join(', ')}]`;

/** "{name}" in a text becomes the value of that name. */
export function fill(text: string, value: (name: string) => string | number | undefined): string {
  return text.replace(/\{([\w.:-]+)\}/g, (_, name: string) => {
    const found = value(name);
    if (found === undefined) throw new Error(`no value for {${name}} in: ${text}`);
    return typeof found === 'number' ? number_text(found) : found;
  });
}
