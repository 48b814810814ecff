// The article: one picture through Qwen3.5. The order of blocks, their evidence and sources stand here once, the words
// in content/guide.*.ts.
import { DataTable } from '../components/figure';
import { Island } from '../components/island';
import { Article, Code, Contents, Formula, H2, Lead, P, Plain, use_article } from '../components/prose';
import { AxesFigure, HybridFigure, LadderFigure, PairsFigure, RoutesFigure } from '../figures/overview';
import { FlowFigure, GroupingFigure, InsertionFigure } from '../figures/path';
import { kGuideEn, type GuideKey } from '../content/guide.en';
import { kGuideZh, kOperationsZh } from '../content/guide.zh';
import { kEngine } from '../engine_data';
import { make_facts } from '../facts';
import { Calculator } from '../islands/calculator';
import { Stepper, type Station } from '../islands/stepper';
import { root_of } from '../lang';
import { use_page } from '../page_context';
import { ClipStrip } from '../trace/clip_strip';

export const kGuideTexts = { en: kGuideEn as Record<GuideKey, string>, zh: kGuideZh };

const kHeadings: GuideKey[] = [
  'h_question', 'h_two', 'h_stations', 'h_encoder', 'h_sizes', 'h_merger', 'h_positions', 'h_deepstack', 'h_calculator',
  'h_configurations', 'h_video', 'h_training', 'h_limits', 'h_next',
];

// Teaching code: the order of steps, not a listing of anybody's file.
const kEncoderCode = `x = patch_map(pixel_values)        # [P, 3*2*16*16] -> [P, E]
x = x + interpolate(position_table, grid)
for block in blocks:
    x = x + attention(norm(x), angles)
    x = x + mlp(norm(x))`;
const merger_code = (text: (key: string) => string) => `y = norm(x)                        # [P, E]
y = y.view(P // 4, 4 * E)          # ${text('code_neighbours')}
v = linear2(gelu(linear1(y)))      # [P/4, H]
h[image_rows] = v                  # masked_scatter`;
const difference_code = (text: (key: string) => string) => `# ${text('code_qwen3_vl')}
for i, layer in enumerate(layers):
    h = layer(h)
    if i < 3: h[image_rows] += deepstack[i]
# ${text('code_qwen3_5')}`;

function Stations() {
  const text = use_article();
  const station = (id: 'encoder' | 'merger' | 'difference', code: string, anchor: string, formula?: string): Station => ({
    id, code, formula, title: text(`station_${id}`), hint: text(`station_${id}_hint`), text: text(`station_${id}_text`),
    training: text('station_training'), more: { text: text('station_more'), href: `#${anchor}` },
  });
  const data = {
    label: text('h_stations'),
    stations: [
      station('encoder', kEncoderCode, 'encoder', text('formula_encoder')), station('merger', merger_code(text), 'merger', text('formula_merger')),
      station('difference', difference_code(text), 'deepstack'),
    ],
  };
  return <Island name="stepper" data={data}><Stepper {...data} /></Island>;
}

export function ConfigurationTable() {
  const { calc, t, lang } = use_page();
  const rows = calc.table.models.map((model) => [
    model.id, `${model.patch} × ${model.patch}`, model.vision_depth ? `${model.vision_depth} / ${model.vision_width}` : '—', lang === 'zh' ? kOperationsZh[model.operation] ?? model.operation : model.operation,
    model.language_width, model.deepstack.join(', ') || '—',
  ]);
  const head = [t('field_m'), t('table_patch'), t('table_blocks'), t('table_operation'), t('table_width'), t('table_deepstack')];
  return <DataTable names caption={t('table_models')} table={{ head, rows }} />;
}

function Encoder() {
  return (
    <>
      <H2 k="h_encoder" />
      <P k="encoder_patch" kind="code" refs={['qwen-patches']} />
      <P k="encoder_still" kind="code" refs={['qwen-patches']} />
      <P k="encoder_row" kind="trace" refs={['own-patches', 'qwen-patches']} />
      <GroupingFigure />
      <Formula k="formula_encoder" />
      <P k="encoder_positions" kind="code" refs={['vision']} />
      <P k="encoder_blocks" kind="calc" refs={['config', 'vision']} />
      <Code>{kEncoderCode}</Code>
      <P k="encoder_hybrid" kind="limit" refs={['vision', 'delta-rule']} />
      <HybridFigure />
      <P k="encoder_reuse" kind="limit" refs={['processor']} />
      <H2 k="h_sizes" />
      <P k="sizes_factor" kind="code" refs={['qwen-image-size']} />
      <P k="sizes_grown" kind="calc" refs={['qwen-image-size', 'own-rule']} />
      <P k="sizes_even" kind="code" refs={['qwen-image-size']} />
      <P k="sizes_budget" kind="calc" refs={['qwen-image-size']} />
    </>
  );
}

function MergerAndPositions() {
  const text = use_article();
  return (
    <>
      <H2 k="h_merger" />
      <P k="merger_order" kind="code" refs={['merger']} />
      <Formula k="formula_merger" />
      <Code>{merger_code(text)}</Code>
      <P k="merger_concat" kind="limit" refs={['merger']} />
      <P k="merger_insert" kind="code" refs={['insertion']} />
      <InsertionFigure />
      <P k="merger_proof" kind="trace" refs={['own-merge']} />
      <P k="merger_continuous" kind="code" refs={['model']} />
      <H2 k="h_positions" />
      <P k="positions_axes" kind="code" refs={['rope-index']} />
      <AxesFigure />
      <P k="positions_jump" kind="calc" refs={['rope-index', 'own-rule']} />
      <P k="positions_answer" kind="calc" refs={['rope-index', 'own-rule']} />
    </>
  );
}

function Rest() {
  const { page } = use_page();
  const text = use_article();
  return (
    <>
      <H2 k="h_deepstack" />
      <P k="deepstack_vl" kind="code" refs={['deepstack']} />
      <RoutesFigure />
      <P k="deepstack_config" kind="config" refs={['config']} />
      <P k="deepstack_code" kind="code" refs={['vision', 'model']} />
      <Code>{difference_code(text)}</Code>
      <P k="deepstack_limit" kind="limit" refs={['deepstack']} />
      <H2 k="h_calculator" />
      <Plain k="calculator_note" />
      <Island name="calculator"><Calculator /></Island>
      <H2 k="h_configurations" />
      <P k="configurations_note" kind="config" refs={['config', 'config-copy']} />
      <ConfigurationTable />
      <P k="configurations_12b" kind="code" refs={['gemma-unified']} />
      <H2 k="h_video" />
      <P k="video_minute" kind="calc" refs={['qwen-video-size', 'qwen-video-patches']} />
      <PairsFigure />
      <P k="video_budget" kind="code" refs={['qwen-video-size']} />
      <P k="video_recorded" kind="trace" refs={['own-trace']} />
      <ClipStrip trace={kEngine.traces.clip} data={`${root_of(page)}data/`} />
      <H2 k="h_training" />
      <P k="training_says" kind="card" refs={['card']} />
      <P k="training_silent" kind="undisclosed" refs={['card']} />
      <H2 k="h_limits" />
      <LadderFigure />
      <P k="limits_decoder" kind="limit" refs={['model']} />
      <P k="limits_study" kind="limit" refs={['model']} />
      <P k="limits_calculator" kind="limit" refs={['own-rule']} />
      <H2 k="h_next" />
      <Plain k="next_quiz" />
    </>
  );
}

function Body() {
  const { t } = use_page();
  return (
    <>
      <h1>{t('title_guide')}</h1>
      <Lead k="lead" />
      <Contents keys={kHeadings} />
      <H2 k="h_question" />
      <P k="question_joint" kind="limit" refs={['card']} />
      <P k="question_code" kind="code" refs={['vision', 'merger', 'insertion']} />
      <FlowFigure />
      <Formula k="formula_summary" />
      <P k="summary" kind="code" refs={['model']} />
      <H2 k="h_two" />
      <P k="two_card" kind="card" refs={['card']} />
      <P k="two_config" kind="config" refs={['config']} />
      <P k="two_limit" kind="limit" refs={['config']} />
      <H2 k="h_stations" />
      <Plain k="stations_how" />
      <Stations />
      <Encoder />
      <MergerAndPositions />
      <Rest />
    </>
  );
}

export function GuidePage() {
  const { lang, calc } = use_page();
  return <Article.Provider value={{ text: kGuideTexts[lang], facts: make_facts(calc, lang) }}><Body /></Article.Provider>;
}
