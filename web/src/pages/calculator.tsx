// The page of the calculator.
import { Island } from '../components/island';
import { Calculator } from '../islands/calculator';
import { use_page } from '../page_context';

export function CalculatorPage() {
  const { t } = use_page();
  return (
    <>
      <h1>{t('title_calculator')}</h1>
      <p class="lead">{t('lead_calculator')}</p>
      <noscript><p class="notice">{t('no_script')}</p></noscript>
      <Island name="calculator"><Calculator /></Island>
    </>
  );
}
