// The pages of the labs: a heading, a sentence, the lab, and the drawings that belong to it.
import type { ComponentChildren } from 'preact';
import { Island } from '../components/island';
import { kQuizEn } from '../content/quiz.en';
import { kQuizZh } from '../content/quiz.zh';
import type { UiKey } from '../content/ui.en';
import { kEngine } from '../engine_data';
import { AxesFigure, FrequencyFigure, HybridFigure, PairsFigure, RoutesFigure } from '../figures/overview';
import { FlowFigure, GroupingFigure } from '../figures/path';
import { Calculator } from '../islands/calculator';
import { Compare } from '../islands/compare';
import { Layers } from '../islands/layers';
import { PatchLab } from '../islands/patch_lab';
import { Positions } from '../islands/positions';
import { Quiz } from '../islands/quiz';
import { TraceView, type Record } from '../islands/trace_view';
import { VideoLab } from '../islands/video_lab';
import { use_page } from '../page_context';

export const kQuizTexts = { en: kQuizEn, zh: kQuizZh };
const kRecords: Record[] = ['red', 'scene', 'photo', 'two', 'clip', 'shapes'].map((id) => ({ id, file: `${id}.json` }));

function Lab({ children }: { children: ComponentChildren }) {
  const { t, page } = use_page();
  return (
    <>
      <h1 id={page}>{t(`title_${page}` as UiKey)}</h1>
      <p class="lead">{t(`lead_${page}` as UiKey)}</p>
      <noscript><p class="notice">{t('no_script')}</p></noscript>
      {children}
    </>
  );
}

export const CalculatorPage = () => <Lab><Island name="calculator"><Calculator /></Island></Lab>;
export const PatchesPage = () => <Lab><Island name="patches"><PatchLab /></Island><GroupingFigure /></Lab>;
export const PositionsPage = () => <Lab><Island name="positions"><Positions /></Island><AxesFigure /><FrequencyFigure /></Lab>;
export const VideoPage = () => <Lab><Island name="video"><VideoLab /></Island><PairsFigure /></Lab>;
export const ComparePage = () => <Lab><RoutesFigure /><Island name="compare"><Compare /></Island></Lab>;

export function LayersPage() {
  const maps = [...kEngine.layers].sort((a, b) => Number(b.name === 'qwen3.5-2b') - Number(a.name === 'qwen3.5-2b'));
  return <Lab><Island name="layers" data={{ maps }}><Layers maps={maps} /></Island><HybridFigure /></Lab>;
}

export function TracePage() {
  const data = { first: kEngine.traces.red, records: kRecords };
  return <Lab><FlowFigure /><Island name="trace" data={data}><TraceView {...data} /></Island></Lab>;
}

export function QuizPage() {
  const { lang } = use_page();
  const questions = kQuizTexts[lang];
  return <Lab><Island name="quiz" data={{ questions }}><Quiz questions={questions} /></Island></Lab>;
}
