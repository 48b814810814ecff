// Brings a finished page to life: switches of the head, and the islands that the page has.
import { h, hydrate } from 'preact';
import { browser_calc } from './calc_browser';
import { kIslands, type IslandName } from './islands/names';
import type { Lang, PageId } from './lang';
import { Page, type Ui } from './page_context';
import './style/index';

const kThemes = ['auto', 'light', 'dark'] as const;

function set_up_theme() {
  const button = document.getElementById('theme') as HTMLButtonElement | null;
  if (!button) return;
  const current = () => kThemes.find((theme) => theme === localStorage.getItem('theme')) ?? 'auto';
  const show = () => {
    const theme = current();
    button.textContent = button.dataset[theme] ?? theme;
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  button.addEventListener('click', () => {
    localStorage.setItem('theme', kThemes[(kThemes.indexOf(current()) + 1) % kThemes.length]);
    show();
  });
  show();
}

/** The other language opens at the same place with the same inputs. */
function set_up_language() {
  const anchor = document.getElementById('language') as HTMLAnchorElement | null;
  const path = anchor?.getAttribute('href') ?? '';
  anchor?.addEventListener('click', () => anchor.setAttribute('href', `${path}${location.search}${location.hash}`));
}

/** Printed pages show everything that can be unfolded. */
function set_up_print() {
  const opened: HTMLDetailsElement[] = [];
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('main details:not([open])')) {
      details.open = true;
      opened.push(details);
    }
  });
  addEventListener('afterprint', () => opened.splice(0).forEach((details) => (details.open = false)));
}

/** A drawing in a window of its own; Escape closes it and gives the focus back. */
function set_up_zoom() {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-zoom]')) {
    button.addEventListener('click', () => {
      const drawing = document.querySelector(`#${button.dataset.zoom} svg`)?.cloneNode(true) as SVGElement | undefined;
      if (!drawing) return;
      const dialog = document.body.appendChild(document.createElement('dialog'));
      const close = dialog.appendChild(document.createElement('button'));
      dialog.className = 'zoom';
      dialog.setAttribute('aria-label', drawing.querySelector('title')?.textContent ?? '');
      drawing.removeAttribute('aria-labelledby');
      drawing.querySelectorAll('[id]').forEach((element) => element.removeAttribute('id'));
      close.textContent = button.dataset.close ?? '';
      close.addEventListener('click', () => dialog.close());
      dialog.append(drawing);
      dialog.addEventListener('close', () => {
        dialog.remove();
        button.focus();
      });
      dialog.showModal();
    });
  }
}

async function texts(lang: Lang): Promise<Ui> {
  return lang === 'zh' ? (await import('./content/all.zh')).kUi : (await import('./content/all.en')).kUi;
}

async function set_up_islands() {
  const islands = [...document.querySelectorAll<HTMLElement>('[data-island]')];
  if (islands.length === 0) return;
  const lang: Lang = document.documentElement.lang === 'en' ? 'en' : 'zh';
  const page = document.body.dataset.page as PageId;
  const components = Promise.all(islands.map((island) => kIslands[island.dataset.island as IslandName]()));
  const [calc, ui, loaded] = await Promise.all([browser_calc(), texts(lang), components]);
  islands.forEach((island, i) => {
    const props = JSON.parse(island.dataset.props ?? '{}');
    hydrate(h(Page.Provider, { value: { lang, page, ui, calc } }, h(loaded[i] as never, props)), island);
    island.dataset.alive = 'true';
  });
}

set_up_theme();
set_up_language();
set_up_print();
set_up_zoom();
await set_up_islands();
document.documentElement.dataset.ready = 'true';
