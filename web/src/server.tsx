// Writes pages: a page and a language to a whole HTML document. Used by scripts/build.mjs and by the tests.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ComponentType } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { Calc } from './calc';
import { result_rows, size_steps } from './calculator/explain';
import { Layout } from './components/layout';
import { kUi as kEn } from './content/all.en';
import { kUi as kZh } from './content/all.zh';
import { kHtmlLang, kLangs, kPages, link, root_of, slug, type Lang, type PageId } from './lang';
import { Page, type Ui } from './page_context';
import { kFigureTexts } from './figures/words';
import { kPageComponents } from './pages/all';
import { kGuideTexts } from './pages/guide';
import { kQuizTexts } from './pages/labs';
import { kShortTexts } from './pages/short';
import type { UiKey } from './content/ui.en';

export { kLangs, kPages, result_rows, size_steps, slug };

const kPolicy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data: blob:; style-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'";
const kTexts: Record<Lang, Ui> = { en: kEn, zh: kZh };

export interface Assets {
  script: string;
  theme: string;
  styles: string[];
}

export function load_calc(): Promise<Calc> {
  return Calc.load(readFileSync(resolve(import.meta.dirname, '../calc.wasm')));
}


function head(lang: Lang, page: PageId, assets: Assets): string {
  const root = root_of(page);
  const title = kTexts[lang][`title_${page}` as UiKey];
  const alternates = kLangs.map((other) => `<link rel="alternate" hreflang="${kHtmlLang[other]}" href="${link(page, other, page)}">`);
  return [
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${kPolicy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${title} · sightline</title>`,
    `<link rel="icon" href="${root}favicon.svg" type="image/svg+xml">`,
    ...alternates,
    ...assets.styles.map((file) => `<link rel="stylesheet" href="${root}${file}">`),
    `<script src="${root}${assets.theme}"></script>`,
    `<script type="module" src="${root}${assets.script}"></script>`,
  ].join('\n');
}

export function render(calc: Calc, lang: Lang, page: PageId, assets: Assets): string {
  const Body = kPageComponents[page] as ComponentType;
  const body = renderToString(
    <Page.Provider value={{ lang, page, ui: kTexts[lang], calc }}>
      <Layout><Body /></Layout>
    </Page.Provider>,
  );
  return `<!doctype html>\n<html lang="${kHtmlLang[lang]}">\n<head>\n${head(lang, page, assets)}\n</head>\n<body data-page="${page}">\n${body}\n</body>\n</html>\n`;
}

/** The site's first page: a choice of language, without script. */
export function render_entry(assets: Assets): string {
  const styles = assets.styles.map((file) => `<link rel="stylesheet" href="${file}">`).join('\n');
  const choices = kLangs.map((lang) => `<li class="card" lang="${kHtmlLang[lang]}"><h2><a href="${lang}/">${kTexts[lang].title_home}</a></h2></li>`);
  return `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${kPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>sightline</title>\n<link rel="icon" href="favicon.svg" type="image/svg+xml">
${styles}\n</head>\n<body>\n<main class="entry">\n<h1>sightline</h1>\n<ul class="cards">${choices.join('')}</ul>\n</main>\n</body>\n</html>\n`;
}

/** Every text of the site by language and key, for tests that hold the languages together. */
export function all_texts(): Record<Lang, Record<string, string>> {
  const of = (lang: Lang) => {
    const quiz = kQuizTexts[lang].flatMap(({ id, question, options, reason }) => [
      [`quiz_${id}`, question], [`quiz_${id}_reason`, reason], ...options.map((option, i) => [`quiz_${id}_${i}`, option]),
    ]);
    return { ...kTexts[lang], ...kGuideTexts[lang], ...kShortTexts[lang], ...kFigureTexts[lang], ...Object.fromEntries(quiz) };
  };
  return { en: of('en'), zh: of('zh') };
}
