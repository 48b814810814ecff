// The frame of every page: head of the site, navigation, switches, foot.
import type { ComponentChildren } from 'preact';
import { kHtmlLang, link, type PageId } from '../lang';
import { use_page } from '../page_context';
import type { UiKey } from '../content/ui.en';

const kGroups: [UiKey, PageId[]][] = [
  ['nav_read', ['tokens', 'deepstack', 'guide']],
  ['nav_try', ['calculator', 'patches', 'positions', 'video', 'compare']],
  ['nav_check', ['trace', 'layers', 'audit', 'quiz']],
  ['nav_more', ['references', 'about']],
];

function Navigation() {
  const { t, to, page } = use_page();
  return (
    <nav class="side" id="pages" aria-label={t('nav_label')}>
      <div class="menu">
        {kGroups.map(([group, pages]) => (
          <div class="group">
            <p class="group-name" id={`nav-${group}`}>{t(group)}</p>
            <ul aria-labelledby={`nav-${group}`}>
              {pages.map((id) => (
                <li>
                  <a href={to(id)} aria-current={id === page ? 'page' : undefined}>
                    {t(`title_${id}` as UiKey)}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
    </nav>
  );
}

export function LanguageLink() {
  const { lang, page, t } = use_page();
  const other = lang === 'en' ? 'zh' : 'en';
  return (
    <a class="switch" id="language" href={link(page, other, page)} lang={kHtmlLang[other]} hreflang={kHtmlLang[other]}>
      {t('other_language')}
    </a>
  );
}

export function Layout({ children }: { children: ComponentChildren }) {
  const { t, to, page } = use_page();
  return (
    <>
      <a class="skip" href="#main">{t('skip')}</a>
      <header class="top">
        <a class="brand" href={to('home')} aria-current={page === 'home' ? 'page' : undefined}>
          sightline <span>{t('field_guide')}</span>
        </a>
        <div class="switches">
          <a class="switch to-pages" href="#pages">{t('nav_label')}</a>
          <LanguageLink />
          <button class="switch needs-script" id="theme" type="button" data-auto={t('theme_auto')} data-light={t('theme_light')} data-dark={t('theme_dark')}>
            {t('theme_auto')}
          </button>
        </div>
      </header>
      <div class="body">
        <main id="main">
          {children}
        </main>
        <Navigation />
      </div>
      <footer class="foot">
        <p>{t('foot')}</p>
      </footer>
    </>
  );
}
