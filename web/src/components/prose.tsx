// Articles: headings, paragraphs that each carry one badge of evidence with their sources, formulas, code.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { kReferences, title_of, type Reference, type ReferenceId } from '../content/references';
import type { UiKey } from '../content/ui.en';
import { fill } from '../lang';
import { use_page } from '../page_context';
import { Inline } from './inline';

export type Evidence = 'card' | 'config' | 'code' | 'trace' | 'calc' | 'limit' | 'undisclosed';

/** The texts of an article and the figures that they name. */
export const Article = createContext<{ text: Record<string, string>; facts: (name: string) => string | number | undefined }>({
  text: {}, facts: () => undefined,
});

export function use_article() {
  const { text, facts } = useContext(Article);
  return (key: string) => {
    if (!(key in text)) throw new Error(`no text ${key}`);
    return fill(text[key], facts);
  };
}

export function Badge({ kind }: { kind: Evidence }) {
  const { t, to } = use_page();
  return <a class={`badge badge-${kind}`} href={to('about', `kind-${kind}`)} title={t(`why_${kind}` as UiKey)}>{t(`kind_${kind}` as UiKey)}</a>;
}

export function Sources({ refs }: { refs: ReferenceId[] }) {
  const { to, lang } = use_page();
  return (
    <>
      {refs.map((id) => {
        const entry: Reference = kReferences[id];
        return <a href={to('references', `ref-${id}`)}>{title_of(entry, lang)}{entry.lines && `:${entry.lines}`}</a>;
      })}
    </>
  );
}

export function P({ k, kind, refs = [] }: { k: string; kind: Evidence; refs?: ReferenceId[] }) {
  const text = use_article();
  return (
    <div class="block" id={`say-${k}`} data-kind={kind} data-refs={refs.join(' ')}>
      <p><Inline text={text(k)} /></p>
      <p class="evidence"><Badge kind={kind} /><Sources refs={refs} /></p>
    </div>
  );
}

export const Plain = ({ k }: { k: string }) => <p><Inline text={use_article()(k)} /></p>;
export const Lead = ({ k }: { k: string }) => <p class="lead"><Inline text={use_article()(k)} /></p>;
export const Formula = ({ k }: { k: string }) => <p class="formula">{use_article()(k)}</p>;
export const H2 = ({ k }: { k: string }) => <h2 id={k.replace(/^h_/, '')}><Inline text={use_article()(k)} /></h2>;

export function Code({ children }: { children: string }) {
  return <pre tabIndex={0}><code>{children}</code></pre>;
}

/** Links to the headings of a page. */
export function Contents({ keys }: { keys: string[] }) {
  const { t } = use_page();
  const text = use_article();
  return (
    <nav aria-label={t('on_this_page')}>
      <ol class="toc">{keys.map((key) => <li><a href={`#${key.replace(/^h_/, '')}`}>{text(key)}</a></li>)}</ol>
    </nav>
  );
}
