// The stages of a run in order, with shape, parameters, time and its share; a row opens the stage.
import { number_text, shape_text } from '../lang';
import { use_page } from '../page_context';
import type { Trace } from './schema';

const kMicro = 1000; // microseconds of a millisecond

export function StageTable({ trace, at, choose }: { trace: Trace; at: number; choose: (index: number) => void }) {
  const { t } = use_page();
  const whole = Math.max(1, trace.totals.dur_us ?? trace.totals.flops);
  const cost = (event: Trace['events'][0]) => (trace.totals.dur_us ? event.dur_us ?? 0 : event.flops ?? 0);
  const timed = trace.totals.dur_us !== undefined;
  return (
    <div class="scroll tall" role="region" aria-label={t('trace_stages')} tabIndex={0}>
      <table class="stages" id="stage-table">
        <thead>
          <tr>
            <th scope="col" class="number">#</th>
            <th scope="col">{t('trace_stage')}</th>
            <th scope="col">{t('trace_module')}</th>
            <th scope="col">{t('trace_shape')}</th>
            <th scope="col" class="number">{t(timed ? 'trace_ms' : 'trace_gflop')}</th>
            <th scope="col">{t('trace_share')}</th>
          </tr>
        </thead>
        <tbody>
          {trace.events.map((event, i) => (
            <tr class={i === at ? `stage-${event.stage} here` : `stage-${event.stage}`}>
              <td class="number">{event.i}</td>
              <td><span class={`stage-mark ${event.stage}`}>{t(`stage_${event.stage}`)}</span></td>
              <th scope="row"><button type="button" class="plain-button" aria-pressed={i === at} onClick={() => choose(i)}>{event.name.replace('model.language_model.', '').replace('model.', '')}</button></th>
              <td class="mono">{event.out.map((tensor) => shape_text(tensor.shape)).join(' ')}</td>
              <td class="number">{number_text(cost(event) / (timed ? kMicro : 1e9), 2)}</td>
              <td><svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width={Math.max(0.5, (100 * cost(event)) / whole)} height={10} /></svg></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
