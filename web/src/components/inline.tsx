// Marked text to elements: `code`, **strong**, [words](page:id?query#anchor), [words](ref:id), [words](#anchor).
import type { ComponentChild } from 'preact';
import { use_page } from '../page_context';
import type { PageId } from '../lang';

const kMark = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]+)\)/g;

/** A long name of code, which may be broken after its joints. */
export const Name = ({ text }: { text: string }) => <>{text.split(/(?<=[_/])/).map((part) => <>{part}<wbr /></>)}</>;

export function Inline({ text }: { text: string }) {
  const { to } = use_page();
  const target = (address: string) => {
    const [, kind, id, rest = ''] = /^(page|ref):([\w-]+)((?:\?[\w=&-]+)?(?:#[\w-]+)?)$/.exec(address) ?? [];
    if (kind === 'page') return `${to(id as PageId)}${rest}`;
    return kind === 'ref' ? to('references', `ref-${id}`) : address;
  };
  const parts: ComponentChild[] = [];
  let end = 0;
  for (const match of text.matchAll(kMark)) {
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    const [, code, strong, words, address] = match;
    if (code) parts.push(<code>{code}</code>);
    else if (strong) parts.push(<strong>{strong}</strong>);
    else parts.push(<a href={target(address)}>{words}</a>);
  }
  parts.push(text.slice(end));
  return <>{parts}</>;
}
