// The short pages: home, the two primers, sources, about.
import { Article, Badge, H2, Lead, P, Plain, use_article, type Evidence } from '../components/prose';
import { Inline, Name } from '../components/inline';
import { AxesFigure, LadderFigure, RoutesFigure } from '../figures/overview';
import { FlowFigure, GroupingFigure, InsertionFigure } from '../figures/path';
import { kReferences, title_of, word_of, type Reference } from '../content/references';
import { kShortEn, type ShortKey } from '../content/short.en';
import { kShortZh } from '../content/short.zh';
import type { UiKey } from '../content/ui.en';
import { kEngine } from '../engine_data';
import { make_facts } from '../facts';
import type { PageId } from '../lang';
import { use_page } from '../page_context';

export const kShortTexts = { en: kShortEn as Record<ShortKey, string>, zh: kShortZh };
const kGoldenCases = 122; // tests/golden.test.mjs counts them

/** A page whose texts are those of content/short.*.ts. */
export function short_page(Body: () => preact.JSX.Element) {
  return function ShortPage() {
    const { lang, calc } = use_page();
    const facts = make_facts(calc, lang);
    const own: Record<string, number> = { golden: kGoldenCases, shapes_events: kEngine.traces.shapes.events.length };
    return <Article.Provider value={{ text: kShortTexts[lang], facts: (name) => own[name] ?? facts(name) }}><Body /></Article.Provider>;
  };
}

export const HomePage = short_page(() => {
  const { t, to } = use_page();
  const text = use_article();
  const cards: [string, PageId[]][] = [
    ['read', ['tokens', 'deepstack', 'guide']], ['try', ['calculator', 'patches', 'positions', 'video', 'compare']], ['check', ['trace', 'layers', 'audit', 'quiz']],
  ];
  return (
    <>
      <h1>{t('title_home')}</h1>
      <Lead k="home_lead" />
      <ul class="cards">
        {cards.map(([name, pages]) => (
          <li class="card">
            <h2>{text(`home_${name}`)}</h2>
            <p>{text(`home_${name}_text`)}</p>
            <ul class="plain">{pages.map((id) => <li><a href={to(id)}>{t(`title_${id}` as UiKey)}</a></li>)}</ul>
          </li>
        ))}
      </ul>
      <FlowFigure />
    </>
  );
});

export const TokensPage = short_page(() => {
  const { t } = use_page();
  return (
    <>
      <h1>{t('title_tokens')}</h1>
      <Lead k="tokens_lead" />
      <H2 k="h_tokens_row" />
      <P k="tokens_row" kind="code" refs={['model']} />
      <P k="tokens_any" kind="calc" refs={['model']} />
      <H2 k="h_tokens_patches" />
      <P k="tokens_patches" kind="code" refs={['vision']} />
      <P k="tokens_length" kind="code" refs={['qwen-image-size']} />
      <GroupingFigure />
      <H2 k="h_tokens_fewer" />
      <P k="tokens_fewer" kind="code" refs={['merger']} />
      <P k="tokens_other" kind="code" refs={['model', 'gemma-tokens']} />
      <H2 k="h_tokens_place" />
      <P k="tokens_place" kind="code" refs={['processor', 'insertion']} />
      <InsertionFigure />
      <Plain k="tokens_next" />
    </>
  );
});

export const DeepstackPage = short_page(() => {
  const { t } = use_page();
  return (
    <>
      <h1>{t('title_deepstack')}</h1>
      <Lead k="deep_lead" />
      <H2 k="h_deep_same" />
      <P k="deep_same" kind="config" refs={['config', 'deepstack']} />
      <AxesFigure />
      <H2 k="h_deep_stack" />
      <P k="deep_stack" kind="code" refs={['deepstack', 'config']} />
      <P k="deep_add" kind="code" refs={['deepstack']} />
      <P k="deep_why" kind="limit" refs={['deepstack']} />
      <RoutesFigure />
      <H2 k="h_deep_qwen35" />
      <P k="deep_qwen35" kind="code" refs={['vision']} />
    </>
  );
});

export const ReferencesPage = short_page(() => {
  const { t, lang } = use_page();
  const text = use_article();
  const head = ['ref_id', 'ref_title', 'ref_where', 'ref_revision', 'ref_checked'];
  return (
    <>
      <h1>{t('title_references')}</h1>
      <Lead k="references_lead" />
      <div class="scroll" role="region" aria-label={t('title_references')} tabIndex={0}>
        <table class="names sources">
          <thead><tr>{head.map((key) => <th scope="col">{text(key)}</th>)}</tr></thead>
          <tbody>
            {Object.entries(kReferences).map(([id, entry]: [string, Reference]) => (
              <tr id={`ref-${id}`}>
                <th scope="row"><code>{id}</code></th>
                <td><Name text={title_of(entry, lang)} /></td>
                <td>{word_of(entry.repository, lang)}: <code><Name text={`${entry.path}${entry.lines && `:${entry.lines}`}`} /></code></td>
                <td>{word_of(entry.revision, lang)}</td>
                <td class="number">{entry.checked}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
});

export const AboutPage = short_page(() => {
  const { t } = use_page();
  const text = use_article();
  const kinds: Evidence[] = ['card', 'config', 'code', 'trace', 'calc', 'limit', 'undisclosed'];
  return (
    <>
      <h1>{t('title_about')}</h1>
      <Lead k="about_lead" />
      <H2 k="h_about_kinds" />
      <dl class="kinds">
        {kinds.map((kind) => (
          <div id={`kind-${kind}`}><dt><Badge kind={kind} /></dt><dd>{t(`why_${kind}` as UiKey)}</dd></div>
        ))}
      </dl>
      <LadderFigure />
      <H2 k="h_about_runs" />
      {['about_wasm', 'about_traces', 'about_private'].map((key) => <p><Inline text={text(key)} /></p>)}
      <H2 k="h_about_makers" />
      <Plain k="about_own" />
    </>
  );
});
