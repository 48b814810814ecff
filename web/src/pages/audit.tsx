// The audit as a page: every step with its command and what the engine gave when the site was built.
import { DataTable } from '../components/figure';
import { Badge, Code, H2, Lead, Plain, use_article } from '../components/prose';
import { kEngine } from '../engine_data';
import { number_text, shape_text } from '../lang';
import { use_page } from '../page_context';
import { ProofTable } from '../trace/proof';
import { FlowFigure } from '../figures/path';
import { short_page } from './short';

function Command({ text }: { text: string }) {
  return <div class="audit-command"><Badge kind="trace" /><Code>{`$ ${text}`}</Code></div>;
}

function Classes() {
  const text = use_article();
  const { children } = kEngine.inspection;
  return (
    <>
      <H2 k="h_audit_classes" />
      <Plain k="audit_classes" />
      <Command text="sightline inspect qwen3.5-2b" />
      <DataTable caption={text('h_audit_classes')} table={{
        head: [text('audit_part'), text('audit_class'), text('audit_parameters')],
        rows: children.map((child) => [child.name, child.class, number_text(child.parameters)]),
      }} />
    </>
  );
}

function Tower() {
  const text = use_article();
  const parts = kEngine.inspection.modules.filter(({ path }) => /^model\.visual\.[a-z_]+(\.0)?$/.test(path));
  return (
    <>
      <H2 k="h_audit_tower" />
      <Plain k="audit_tower" />
      <Command text="sightline inspect qwen3.5-2b --json" />
      <DataTable caption={text('h_audit_tower')} table={{
        head: [text('audit_part'), text('audit_class'), text('audit_parameters')],
        rows: parts.map((part) => [part.path.replace('model.visual.', ''), `${part.class}${part.extra && ` (${part.extra})`}`, number_text(part.parameters)]),
      }} />
    </>
  );
}

function States() {
  const text = use_article();
  return (
    <>
      <H2 k="h_audit_hidden" />
      <Plain k="audit_hidden" />
      <Command text={kEngine.traces.red.command!.replace('trace', 'hidden').replace(' --json --maps', '')} />
      <DataTable caption={text('h_audit_hidden')} table={{
        head: [text('audit_state'), text('audit_from'), text('audit_shape')],
        rows: kEngine.hidden.map((state) => [`${state.tower}: ${state.name}`, state.from, shape_text(state.shape)]),
      }} />
    </>
  );
}

function Family() {
  const text = use_article();
  return (
    <>
      <H2 k="h_audit_family" />
      <Plain k="audit_family" />
      <Command text="sightline models" />
      <DataTable names caption={text('h_audit_family')} table={{
        head: ['', text('audit_vision'), text('audit_language'), 'lm_head', 'mtp', text('audit_total')],
        rows: kEngine.models.map(({ name, parameters }) => [
          name, ...[parameters.vision, parameters.language, parameters.head, parameters.mtp, parameters.total].map((count) => number_text(count)),
        ]),
      }} />
    </>
  );
}

export const AuditPage = short_page(() => {
  const { t } = use_page();
  return (
    <>
      <h1>{t('title_audit')}</h1>
      <Lead k="audit_lead" />
      <Classes />
      <Tower />
      <H2 k="h_audit_trace" />
      <Plain k="audit_trace" />
      <Command text={kEngine.traces.shapes.command!.replace(' --full --json', '')} />
      <FlowFigure />
      <H2 k="h_audit_merge" />
      <Plain k="audit_merge" />
      <Command text={kEngine.traces.red.command!.replace('trace', 'merge').replace(' --json --maps', '')} />
      <ProofTable proof={kEngine.traces.red.proof!} />
      <States />
      <Family />
    </>
  );
});
