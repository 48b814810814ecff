// A run of the engine, stage by stage: table, tensors with their values, row norms on the picture, tokens, proof. The
// document is that of `sightline trace --json`; where it comes from does not matter here.
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from '../components/copy_button';
import { number_text, root_of, shape_text } from '../lang';
import { use_page } from '../page_context';
import { ClipStrip } from '../trace/clip_strip';
import { ProofTable } from '../trace/proof';
import type { Event, Trace } from '../trace/schema';
import { StageTable } from '../trace/stage_table';
import { TensorCard } from '../trace/tensor_card';
import { TokenStrip } from '../trace/token_strip';

export interface Record {
  id: string;
  file: string;
}

function Head({ trace, data }: { trace: Trace; data: string }) {
  const { t } = use_page();
  return (
    <div class="run-head">
      {trace.files?.map((file) => <img src={`${data}${file}`} alt={t('trace_picture', { name: file })} width={128} height={128} />)}
      <dl class="answer">
        <div><dt>{t('trace_model')}</dt><dd>{trace.model.name}</dd></div>
        {trace.question && <div><dt>{t('trace_question')}</dt><dd lang="en">{trace.question}</dd></div>}
        {trace.answer !== undefined && <div><dt>{t('trace_answer')}</dt><dd lang="en">{trace.answer}</dd></div>}
        {trace.clip && <div><dt>{t('trace_clip')}</dt><dd>{t('trace_clip_value', { frames: trace.clip.frames, rate: trace.clip.rate, groups: trace.clip.groups.length })}</dd></div>}
        <div><dt>{t('trace_tokens')}</dt><dd>{t('trace_tokens_value', { all: trace.prompt_tokens, visual: trace.visual_tokens })}</dd></div>
        <div><dt>{t('trace_work')}</dt><dd>{t('trace_work_value', { calls: trace.totals.calls, parameters: trace.totals.parameters, flops: number_text(trace.totals.flops / 1e9, 2) })}</dd></div>
      </dl>
    </div>
  );
}

function Inspector({ trace, event }: { trace: Trace; event: Event }) {
  const { t } = use_page();
  return (
    <section class="inspector" aria-live="polite" id="inspector">
      <h3><code>{event.name}</code></h3>
      <p class="small">{event.class}{event.caller && ` · ${event.caller.file}:${event.caller.line}`}{event.params ? ` · ${t('trace_params', { n: event.params })}` : ''}</p>
      <p>{t('trace_in')}: {event.in.map((tensor) => `${tensor.name} ${shape_text(tensor.shape)}`).join('; ') || '–'}</p>
      {event.out.map((tensor) => <TensorCard tensor={tensor} trace={trace} event={event} />)}
    </section>
  );
}

/** The stage that is open at first: the last of the tower, whose rows still lie on the picture. */
const opening = (trace: Trace) => Math.max(0, trace.events.findIndex((event) => event.name === 'model.visual.merger') - 1);

export function TraceView({ first, records }: { first: Trace; records: Record[] }) {
  const { t, page } = use_page();
  const data = `${root_of(page)}data/`;
  const [id, set_id] = useState(records[0].id);
  const [trace, set_trace] = useState(first);
  const [at, set_at] = useState(() => opening(first));
  const [failed, set_failed] = useState(false);
  useEffect(() => {
    const wanted = new URLSearchParams(location.search).get('run');
    if (wanted && records.some((record) => record.id === wanted)) choose(wanted);
  }, []);
  const choose = (next: string) => {
    set_id(next);
    history.replaceState(null, '', `?run=${next}${location.hash}`);
    fetch(`${data}${records.find((record) => record.id === next)!.file}`)
      .then((response) => response.json())
      .then((document: Trace) => { set_trace(document); set_at(opening(document)); set_failed(false); }, () => set_failed(true));
  };
  const event = trace.events[at];
  return (
    <section class="lab" aria-label={t('title_trace')}>
      <div class="field">
        <label for="run">{t('trace_choose')}</label>
        <select id="run" value={id} onChange={(change) => choose(change.currentTarget.value)}>
          {records.map((record) => <option value={record.id} selected={record.id === id}>{t(`trace_run_${record.id}` as 'trace_run_red')}</option>)}
        </select>
      </div>
      {failed && <p class="notice problem" role="alert">{t('trace_failed')}</p>}
      {id === 'photo' && <p class="notice">{t('trace_outside')}</p>}
      {trace.shapes_only && <p class="notice">{t('trace_shapes')}</p>}
      <Head trace={trace} data={data} />
      {trace.clip && <><h2 id="groups">{t('clip_title')}</h2><ClipStrip trace={trace} data={data} /></>}
      <h2 id="stages">{t('trace_stages')}</h2>
      <p class="prose">{t('trace_stages_text')}</p>
      <div class="split">
        <StageTable trace={trace} at={at} choose={set_at} />
        {event && <Inspector trace={trace} event={event} />}
      </div>
      {trace.tokens && <><h2 id="tokens">{t('trace_strip')}</h2><TokenStrip trace={trace} /></>}
      {trace.proof && <><h2 id="proof">{t('trace_proof')}</h2><ProofTable proof={trace.proof} /></>}
      {trace.command && <><h2>{t('result_command')}</h2><p class="command"><code tabIndex={0}>{trace.command}</code><CopyButton text={trace.command} /></p></>}
    </section>
  );
}
