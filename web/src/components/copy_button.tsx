// A button that puts a text on the clipboard and says so; where the browser refuses, the element before it is selected.
import { useState } from 'preact/hooks';
import { use_page } from '../page_context';

const kSaid = 1500; // milliseconds

export function CopyButton({ text }: { text: string }) {
  const { t } = use_page();
  const [done, set_done] = useState(false);
  const copy = async ({ currentTarget: button }: { currentTarget: HTMLButtonElement }) => {
    try {
      await navigator.clipboard.writeText(text);
      set_done(true);
      setTimeout(() => set_done(false), kSaid);
    } catch {
      getSelection()?.selectAllChildren(button.previousElementSibling ?? button);
    }
  };
  return (
    <button type="button" class="needs-script" onClick={copy}>
      <span aria-live="polite">{done ? t('copied') : t('copy')}</span>
    </button>
  );
}
