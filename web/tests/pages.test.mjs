// Every page in Chromium: both languages, both colour schemes, three widths. Protects: a page that a reader with a
// keyboard, a screen reader, a small screen, no script or no network cannot use. Pictures are kept in build/web.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { after, before, describe, test } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import { kLangs, kPages, slug } from '../generated/server/server.js';
import { keep, open_site } from './browser.mjs';

const kTags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
// Of all rules only contrast depends on the colour scheme.
const kLooks = [
  { name: 'wide', width: 1440, scheme: 'light', rules: { type: 'tag', values: kTags } },
  { name: 'middle-dark', width: 800, scheme: 'dark', rules: { type: 'rule', values: ['color-contrast'] } },
  { name: 'small', width: 320, scheme: 'light' },
];
const kMostShift = 0.01;
const kScriptBytes = 60 * 1024;
const kWasmBytes = 20 * 1024;
const kAssets = new URL('../dist/assets/', import.meta.url);
const places = kLangs.flatMap((lang) => kPages.map((page) => ({ lang, page, path: `${lang}/${slug(page)}` })));
let site;

// Pages come in pieces, as over a slow line or to a busy machine: what is laid out early must stay where it is.
before(async () => { site = await open_site({ pause: 25 }); });
after(() => site.close());

const watch_shift = () => {
  globalThis.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
};

async function check_axe(page, where, runOnly) {
  const { violations } = await new AxeBuilder({ page }).options({ runOnly, resultTypes: ['violations'] }).analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ''}`).join(' | ')}`);
  assert.deepEqual(found, [], where);
}

const repeated_ids = (page) => page.evaluate(() => {
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i);
});

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

// Two pages at a time: much of a page's time is waiting.
describe('pages', { concurrency: 2 }, () => {
  for (const { lang, page: id, path } of places) {
    test(`${path}: accessible, steady, within the screen, silent`, async () => {
      // English pages are opened on a wide screen, Chinese ones on a small one; both end on the other.
      const looks = lang === 'en' ? kLooks : kLooks.toReversed();
      const page = await site.open(path, { viewport: { width: looks[0].width, height: 900 }, colorScheme: looks[0].scheme }, watch_shift);
      const shift = await page.evaluate(() => globalThis.shift);
      assert.ok(shift < kMostShift, `${path}: layout moves by ${shift}`);
      assert.deepEqual(await repeated_ids(page), [], path);
      for (const { name, width, scheme, rules } of looks) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 900 });
        assert.ok((await overflow(page)) <= 0, `${path} at ${width}: wider than the screen`);
        if (rules) await check_axe(page, `${path} ${name}`, rules);
        await keep(page, `${lang}-${id}-${name}`);
      }
      assert.deepEqual(site.complaints.filter((complaint) => complaint.startsWith(`${path}: `)), []);
      await page.context().close();
    });
  }
});

test('a page without script has its text, tables and a worked result', async () => {
  for (const lang of kLangs) {
    const page = await site.open(`${lang}/guide/`, { javaScriptEnabled: false });
    assert.ok((await page.locator('main').innerText()).length > 5000);
    assert.match(await page.locator('[data-row="row_tokens"] td').first().innerText(), /^256$/);
    assert.equal(await page.locator('[role="tabpanel"]').count(), 3);
    for (const panel of await page.locator('[role="tabpanel"]').all()) assert.ok(await panel.isVisible());
    await page.context().close();
  }
});

test('first load stays small', () => {
  const size = (name) => gzipSync(readFileSync(new URL(name, kAssets))).length;
  const names = readdirSync(kAssets);
  const script = names.filter((name) => name.endsWith('.js')).reduce((sum, name) => sum + size(name), 0);
  const wasm = names.filter((name) => name.endsWith('.wasm')).reduce((sum, name) => sum + size(name), 0);
  console.log(`all script ${script} bytes, WebAssembly ${wasm} bytes (gzip)`);
  assert.ok(script <= kScriptBytes && script > 0, `script: ${script}`);
  assert.ok(wasm <= kWasmBytes && wasm > 0, `wasm: ${wasm}`);
});

test('on paper everything is unfolded and nothing can be pressed', async () => {
  for (const path of ['en/guide/', 'zh/quiz/']) {
    const page = await site.open(path);
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.locator('main details:not([open])').count(), 0);
    assert.equal(await page.locator('main button:visible').count(), 0);
    if (path.includes('guide')) for (const panel of await page.locator('[role="tabpanel"]').all()) assert.ok(await panel.isVisible());
    assert.ok((await page.pdf()).length > 20_000);
    await page.context().close();
  }
});

test('reduced motion and forced colours lose nothing', async () => {
  const page = await site.open('en/guide/', { reducedMotion: 'reduce', forcedColors: 'active' });
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  assert.ok(await page.locator('#result').isVisible());
  await page.context().close();
});

test('every link of the site leads somewhere', async () => {
  const page = await site.open('en/');
  const broken = await page.evaluate(async (paths) => {
    const seen = new Map();
    const faults = [];
    const load = (url) => {
      if (!seen.has(url)) {
        seen.set(url, fetch(url).then(async (response) => (response.ok ? new DOMParser().parseFromString(await response.text(), 'text/html') : null)));
      }
      return seen.get(url);
    };
    for (const path of paths) load(new URL(`../${path}`, location.href).href); // all at once
    for (const path of paths) {
      const from = new URL(`../${path}`, location.href).href;
      const document = await load(from);
      for (const link of document.querySelectorAll('a[href]')) {
        const url = new URL(link.getAttribute('href'), from);
        const target = await load(`${url.origin}${url.pathname}`);
        if (!target || (url.hash && !target.getElementById(decodeURIComponent(url.hash.slice(1))))) faults.push(`${path}: ${link.getAttribute('href')}`);
      }
    }
    return faults;
  }, places.map(({ path }) => path));
  assert.deepEqual(broken, []);
  await page.context().close();
});
