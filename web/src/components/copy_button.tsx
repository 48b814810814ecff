// A button that puts a text on the clipboard and says so.
import { useState } from 'preact/hooks';
import { use_page } from '../page_context';

const kSaid = 1500; // milliseconds

export function CopyButton({ text }: { text: string }) {
  const { t } = use_page();
  const [done, set_done] = useState(false);
  const copy = () =>
    navigator.clipboard?.writeText(text).then(() => {
      set_done(true);
      setTimeout(() => set_done(false), kSaid);
    });
  return (
    <button type="button" class="needs-script" onClick={copy}>
      <span aria-live="polite">{done ? t('copied') : t('copy')}</span>
    </button>
  );
}
