// Drawings that compare: the four routes, the lanes of positions, kinds of layers, pairs of frames, kinds of evidence.
import { Arrow, Box, Figure } from '../components/figure';
import { kEngine } from '../engine_data';
import { use_page } from '../page_context';
import type { FigureKey } from '../content/figures.en';
import { use_words } from './words';

const kRoutes = ['qwen3.5-9b', 'qwen3-vl-8b', 'gemma-4-31b', 'gemma-4-12b'];

/** A lane of the comparison: name, patch, encoder, way to tokens, entrance. */
function use_lanes() {
  const { calc } = use_page();
  const w = use_words();
  return kRoutes.map((id) => {
    const model = calc.model(id)!;
    const encoder = model.vision_depth === 0 ? w('routes_none') : w('routes_blocks', { n: model.vision_depth, w: model.vision_width });
    const reduce: Record<string, FigureKey> = { qwen3_5: 'routes_concat', qwen3_vl: 'routes_concat', gemma4: 'routes_pool', gemma4_unified: 'routes_dense' };
    const pair = model.family.startsWith('qwen');
    return { id, cells: [
      w(pair ? 'routes_two' : 'routes_pixels', { n: model.patch }), encoder, w(reduce[model.family]), w(model.deepstack.length ? 'routes_deep' : 'routes_one'),
    ], deep: model.deepstack.length > 0, none: model.vision_depth === 0 };
  });
}

export function RoutesFigure() {
  const w = use_words();
  const lanes = use_lanes();
  const wide = 226, tall = 62, lane = 104, left = 8;
  const kinds = ['vision', 'vision', 'merge', 'text'];
  return (
    <Figure id="routes" title={w('routes_title')} description={w('routes_desc')} width={left + 4 * (wide + 34)} height={lanes.length * lane + 6}
      table={{ head: [w('routes_route'), w('routes_patch'), w('routes_encoder'), w('routes_reduce'), w('routes_entrance')], rows: lanes.map(({ id, cells }) => [id, ...cells.map((cell) => cell.replace('\n', ' '))]) }}>
      {lanes.map(({ id, cells, deep, none }, i) => {
        const y = i * lane + 28;
        return (
          <g>
            <text x={left} y={y - 9} class="strong">{id}</text>
            {cells.map((cell, k) => (
              <g>
                {k > 0 && <Arrow points={[[left + k * (wide + 34) - 34, y + tall / 2], [left + k * (wide + 34), y + tall / 2]]} />}
                <Box x={left + k * (wide + 34)} y={y} width={wide} height={tall} kind={none && k === 1 ? 'plain' : kinds[k]} lines={cell.split('\n')} />
              </g>
            ))}
            {deep && [0.3, 0.5, 0.7].map((part, n) => (
              <Arrow kind="merge" points={[[left + wide + 34 + wide * part, y], [left + wide + 34 + wide * part, y - 6 - n * 5], [left + 3 * (wide + 34) + wide * part, y - 6 - n * 5], [left + 3 * (wide + 34) + wide * part, y]]} />
            ))}
          </g>
        );
      })}
    </Figure>
  );
}

export function AxesFigure() {
  const { calc } = use_page();
  const w = use_words();
  const { positions, length } = calc.positions({ segments: '3 1x4x6 3' });
  const visual = (index: number) => index >= 3 && index < length - 3;
  const side = 58;
  const names: FigureKey[] = ['axes_t', 'axes_h', 'axes_w'];
  return (
    <Figure id="axes" title={w('axes_title')} description={w('axes_desc')} width={70 + length * side + 8} height={218}
      table={{
        head: [w('axes_token'), w('axes_kind'), ...names.map((name) => w(name))],
        rows: positions.map((position, i) => [i, w(visual(i) ? 'axes_picture' : 'axes_text'), ...position]),
      }}>
      <text x={4} y={20} class="minor">{w('axes_token')}</text>
      {positions.map((position, i) => (
        <g>
          <text x={70 + (i + 0.5) * side} y={20} text-anchor="middle" class="minor">{i}</text>
          {position.map((value, axis) => <Box x={70 + i * side + 3} y={32 + axis * 62} width={side - 6} height={50} kind={visual(i) ? 'vision' : 'text'} lines={[value]} />)}
        </g>
      ))}
      {names.map((name, axis) => <text x={4} y={62 + axis * 62} class="strong">{w(name)}</text>)}
    </Figure>
  );
}

const kSections = [11, 11, 10]; // rope_parameters.mrope_section of the published configurations: time, height, width

/** Axis of each frequency: dealt out in turn, height and width until their share is used up, the rest is time's. */
const axis_of = (frequency: number) => {
  const axis = frequency % 3;
  return axis > 0 && frequency < 3 * kSections[axis] ? axis : 0;
};

export function FrequencyFigure() {
  const w = use_words();
  const [t, h, width] = kSections;
  const axes = Array.from({ length: t + h + width }, (_, frequency) => axis_of(frequency));
  const names: FigureKey[] = ['axes_t', 'axes_h', 'axes_w'];
  const kinds = ['text', 'vision', 'merge'];
  const side = 30;
  return (
    <Figure id="frequencies" title={w('freq_title')} description={w('freq_desc', { t, h, w: width })} width={60 + axes.length * side} height={140}
      table={{ head: [w('freq_index'), w('freq_axis')], rows: axes.map((axis, i) => [i, w(names[axis])]) }}>
      {names.map((name, axis) => <text x={4} y={34 + axis * 42} class="strong">{w(name)}</text>)}
      {axes.map((axis, i) => <Box x={56 + i * side + 2} y={12 + axis * 42} width={side - 4} height={36} kind={kinds[axis]} lines={[i]} />)}
    </Figure>
  );
}

export function HybridFigure() {
  const w = use_words();
  const layers = kEngine.layers.find(({ name }) => name === 'qwen3.5-2b')!.kinds;
  const side = 40;
  return (
    <Figure id="hybrid" title={w('hybrid_title')} description={w('hybrid_desc')} width={layers.length * side + 16} height={120}
      table={{ head: [w('hybrid_layer'), w('hybrid_kind')], rows: layers.map((kind, i) => [i, w(kind === 'full' ? 'hybrid_full' : 'hybrid_linear')]) }}>
      {layers.map((kind, i) => (
        <Box x={8 + i * side + 2} y={kind === 'full' ? 8 : 26} width={side - 4} height={kind === 'full' ? 70 : 34} kind={kind === 'full' ? 'head' : 'text'} lines={[i]} />
      ))}
      <Box x={8} y={92} width={22} height={18} kind="text" lines={[]} />
      <text x={38} y={106} class="minor">{w('hybrid_linear')}</text>
      <Box x={300} y={92} width={22} height={18} kind="head" lines={[]} />
      <text x={330} y={106} class="minor">{w('hybrid_full')}</text>
    </Figure>
  );
}

export function PairsFigure() {
  const w = use_words();
  const { calc } = use_page();
  const frames = 5;
  const answer = calc.calc({ model: 'qwen3.5-9b', mode: 'video-prepared', frames });
  const groups = answer.problem ? 0 : answer.temporal_groups;
  const slots = Array.from({ length: groups }, (_, g) => [2 * g, Math.min(2 * g + 1, frames - 1)]);
  const name = (g: number, k: number) => (2 * g + k >= frames ? w('pairs_again', { n: frames - 1 }) : w('pairs_frame', { n: 2 * g + k }));
  return (
    <Figure id="pairs" title={w('pairs_title')} description={w('pairs_desc')} width={groups * 300 + 10} height={132}
      table={{ head: [w('pairs_group', { n: '' }).trim(), w('pairs_frames')], rows: slots.map((_, g) => [g, `${name(g, 0)}, ${name(g, 1)}`]) }}>
      {slots.map((_, g) => (
        <g>
          <Box x={10 + g * 300} y={8} width={280} height={116} kind="merge" lines={[]} />
          <text x={150 + g * 300} y={34} text-anchor="middle" class="strong">{w('pairs_group', { n: g })}</text>
          {[0, 1].map((k) => <Box x={22 + g * 300 + k * 130} y={50} width={126} height={58} kind={2 * g + k >= frames ? 'plain' : 'vision'} lines={[name(g, k)]} />)}
        </g>
      ))}
    </Figure>
  );
}

export function LadderFigure() {
  const w = use_words();
  const steps = ['card', 'config', 'code', 'trace', 'experiment'] as const;
  return (
    <Figure id="ladder" title={w('ladder_title')} description={w('ladder_desc')} width={steps.length * 176 + 8} height={216}
      table={{ head: [w('ladder_kind'), w('ladder_says')], rows: steps.map((step) => [w(`ladder_${step}`), w(`ladder_${step}_says`)]) }}>
      {steps.map((step, i) => (
        <Box x={8 + i * 176} y={136 - i * 32} width={166} height={72} kind={step === 'experiment' ? 'plain' : 'text'} lines={[w(`ladder_${step}`), w(`ladder_${step}_says`)]} />
      ))}
    </Figure>
  );
}
