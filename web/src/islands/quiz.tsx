// Questions with reasons. What was answered is kept in this browser; without script every reason can be unfolded.
import { useEffect, useState } from 'preact/hooks';
import { Inline } from '../components/inline';
import { use_page } from '../page_context';

export interface Question {
  id: string;
  question: string;
  options: string[];
  right: number;
  reason: string;
}

const kStore = 'quiz';

export function Quiz({ questions }: { questions: Question[] }) {
  const { t } = use_page();
  const [chosen, set_chosen] = useState<Record<string, number>>({});
  useEffect(() => {
    try {
      set_chosen(JSON.parse(localStorage.getItem(kStore) ?? '{}'));
    } catch {
      localStorage.removeItem(kStore);
    }
  }, []);
  const keep = (next: Record<string, number>) => {
    set_chosen(next);
    localStorage.setItem(kStore, JSON.stringify(next));
  };
  const right = questions.filter((question) => chosen[question.id] === question.right).length;
  return (
    <section class="quiz" aria-label={t('title_quiz')}>
      <p id="quiz-score" aria-live="polite">{t('quiz_score', { right, answered: Object.keys(chosen).length, n: questions.length })}</p>
      {questions.map((question, i) => {
        const answer = chosen[question.id];
        const done = answer !== undefined;
        return (
          <fieldset class="card question" id={question.id}>
            <legend>{i + 1}. {question.question}</legend>
            {question.options.map((option, k) => (
              <label class="option">
                <input type="radio" name={question.id} checked={answer === k} onChange={() => keep({ ...chosen, [question.id]: k })} />
                <span>{option}</span>
              </label>
            ))}
            {done && <p class={answer === question.right ? 'verdict right' : 'verdict wrong'} role="status">{t(answer === question.right ? 'quiz_right' : 'quiz_wrong', { option: question.options[question.right] })}</p>}
            <details open={done}>
              <summary>{t('quiz_reason')}</summary>
              <p><strong>{question.options[question.right]}.</strong> <Inline text={question.reason} /></p>
            </details>
          </fieldset>
        );
      })}
      <p class="actions"><button type="button" onClick={() => keep({})}>{t('reset')}</button></p>
    </section>
  );
}
