// Chromium for the tests: the site under a sub-path on the loopback, a browser that may reach nothing else, and what it
// complained about.
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from '../scripts/serve.mjs';

export const kPictures = resolve(dirname(fileURLToPath(import.meta.url)), '../../build/web');
const kBase = '/some/where/';
const kArguments = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync',
];

/** Opens the site, pages in pieces where `pause` (milliseconds) is given; `open` runs `first` before anything of the page; `complaints` collects every console message, page error and request that left the origin. */
export async function open_site({ pause = 0 } = {}) {
  const server = await serve({ base: kBase, pause });
  const origin = `http://127.0.0.1:${server.address().port}`;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: kArguments });
  const complaints = [];
  const open = async (path, options = {}, first = undefined) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    if (first) await page.addInitScript(first);
    page.on('console', (message) => complaints.push(`${path}: ${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(`${path}: ${error.message}`));
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(origin)) complaints.push(`${path}: asks ${request.url()}`);
    });
    await page.goto(`${origin}${kBase}${path}`);
    if (options.javaScriptEnabled !== false) await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
    return page;
  };
  const close = async () => {
    await browser.close();
    server.close();
  };
  return { open, close, complaints, origin, base: kBase };
}

/** Keeps a picture of the whole page in the build folder. */
export async function keep(page, name) {
  mkdirSync(kPictures, { recursive: true });
  await page.screenshot({ path: join(kPictures, `${name}.jpg`), fullPage: true, type: 'jpeg', quality: 85 });
}
