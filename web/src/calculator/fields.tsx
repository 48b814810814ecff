// Labelled inputs of the calculator and the labs; what is wrong stands beside the field and is tied to it.
import { use_page } from '../page_context';
import type { UiKey } from '../content/ui.en';

export function Hint({ id, text, problem = false }: { id: string; text: string; problem?: boolean }) {
  return <span id={id} class={problem ? 'hint wrong' : 'hint'}>{text}</span>;
}

interface FieldProps {
  name: string;
  value: string;
  set: (value: string) => void;
  hint?: string;
  problem?: string;
}

export function Field({ name, value, set, hint, problem }: FieldProps) {
  const { t } = use_page();
  const described = [hint && `hint-${name}`, problem && `problem-${name}`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={`field-${name}`}>{t(`field_${name}` as UiKey)}</label>
      <input id={`field-${name}`} inputMode="numeric" autocomplete="off" value={value} aria-invalid={problem ? 'true' : undefined}
        aria-describedby={described || undefined} onInput={(event) => set(event.currentTarget.value)} />
      {hint && <Hint id={`hint-${name}`} text={hint} />}
      {problem && <Hint id={`problem-${name}`} text={problem} problem />}
    </div>
  );
}

interface SelectProps {
  name: string;
  value: string;
  options: { value: string; text: string }[];
  set: (value: string) => void;
}

export function Select({ name, value, options, set }: SelectProps) {
  const { t } = use_page();
  return (
    <div class="field">
      <label for={`field-${name}`}>{t(`field_${name}` as UiKey)}</label>
      <select id={`field-${name}`} value={value} onChange={(event) => set(event.currentTarget.value)}>
        {options.map((option) => (
          <option value={option.value} selected={option.value === value}>{option.text}</option>
        ))}
      </select>
    </div>
  );
}
