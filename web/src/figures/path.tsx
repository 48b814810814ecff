// Drawings of the way: the two branches, the order of rows, the insertion.
import { Arrow, Box, Figure } from '../components/figure';
import { kEngine } from '../engine_data';
import { use_page } from '../page_context';
import type { FigureKey } from '../content/figures.en';
import { use_graph_words, use_words } from './words';

const kBox = { width: 206, height: 84, gap: 30, left: 8, top: 10, row: 122 };

/** Column and row of each call of the graph: the picture's row, the text's row, below them the common way. */
function places() {
  const { nodes } = kEngine.graph;
  const joined = nodes.findIndex((node) => node.channel === 'merge');
  const rows = [
    nodes.slice(0, joined).filter((node) => node.channel === 'vision'), nodes.slice(0, joined).filter((node) => node.channel === 'text'),
    nodes.slice(joined),
  ];
  return new Map(rows.flatMap((row, y) => row.map((node, x) => [
    node.id, { x: kBox.left + x * (kBox.width + kBox.gap), y: kBox.top + y * kBox.row, row: y },
  ] as const)));
}

/** From one box to the next in its row, or over the lane above the last row into the insertion from above. */
function way(a: { x: number; y: number; row: number }, b: { x: number; y: number; row: number }): [number, number][] {
  const middle = kBox.height / 2;
  const right = a.x + kBox.width;
  if (a.row === b.row) return [[right, a.y + middle], [b.x, b.y + middle]];
  const lane = b.y - (a.row === 0 ? 22 : 12);
  const entry = b.x + kBox.width * (a.row === 0 ? 0.65 : 0.35);
  const turn = right + kBox.gap / 2;
  return [[right, a.y + middle], [turn, a.y + middle], [turn, lane], [entry, lane], [entry, b.y]];
}

export function FlowFigure() {
  const w = use_words();
  const say = use_graph_words();
  const { edges } = kEngine.graph;
  const nodes = kEngine.graph.nodes.map((node) => ({ ...node, title: say(node.title), lines: node.lines.map(say) }));
  const at = places();
  const width = Math.max(...[...at.values()].map(({ x }) => x)) + kBox.width + kBox.gap;
  const title_of = (id: string) => nodes.find((node) => node.id === id)?.title ?? id;
  return (
    <Figure id="flow" title={w('flow_title')} description={w('flow_desc')} width={width} height={kBox.top + 2 * kBox.row + kBox.height + 10}
      table={{
        head: [w('flow_step'), w('flow_class'), w('flow_branch'), w('flow_next')],
        rows: nodes.map((node) => [
          node.title, node.lines.join('; '), w(`branch_${node.channel}` as FigureKey),
          edges.filter((edge) => edge.from === node.id).map((edge) => title_of(edge.to)).join(', ') || '–',
        ]),
      }}>
      {edges.map(({ from, to }) => {
        const kind = nodes.find((node) => node.id === from)?.channel === 'vision' ? 'vision' : 'line';
        return <Arrow kind={kind} points={way(at.get(from)!, at.get(to)!)} />;
      })}
      {nodes.map((node) => <Box x={at.get(node.id)!.x} y={at.get(node.id)!.y} width={kBox.width} height={kBox.height} kind={node.channel} lines={[node.title, ...node.lines]} />)}
    </Figure>
  );
}

export function GroupingFigure() {
  const { calc } = use_page();
  const w = use_words();
  const grid = { h: 4, w: 8 };
  const side = 58;
  const merge = calc.table.constants.merge;
  const places = Array.from({ length: grid.h * grid.w }, (_, row) => calc.place({ ...grid, row }));
  const blocks = places.filter((place) => place.slot === 0);
  return (
    <Figure id="grouping" title={w('grouping_title')} description={w('grouping_desc')} width={grid.w * side + 20} height={grid.h * side + 20}
      table={{
        head: [w('grouping_row'), w('grouping_place'), w('grouping_slot'), w('grouping_token')],
        rows: places.map((place) => [place.row, `${place.y}, ${place.x}`, place.slot, place.token]),
      }}>
      {places.map((place) => (
        <g class="box vision">
          <rect x={10 + place.x * side + 4} y={10 + place.y * side + 4} width={side - 8} height={side - 8} />
          <text x={10 + (place.x + 0.5) * side} y={10 + (place.y + 0.5) * side + 5} text-anchor="middle" class="mono">{place.row}</text>
        </g>
      ))}
      {blocks.map((block) => (
        <g class="frame">
          <rect x={10 + block.x * side} y={10 + block.y * side} width={side * merge} height={side * merge} />
          <rect x={10 + block.x * side + 2.5} y={10 + block.y * side + 2.5} width={side * merge - 5} height={side * merge - 5} />
          <text x={10 + (block.x + 1) * side} y={10 + (block.y + 1) * side + 4} text-anchor="middle" class="tag">{w('grouping_tok', { n: block.token })}</text>
        </g>
      ))}
    </Figure>
  );
}

export function InsertionFigure() {
  const w = use_words();
  const proof = kEngine.traces.red.proof!;
  const first = proof.first_positions[0];
  const shown = [0, 1, first - 1, first, first + 1, first + 2, -1, first + proof.image_count - 1, first + proof.image_count, proof.positions - 1];
  const side = 84;
  const visual = (index: number) => index >= first && index < first + proof.image_count;
  const label = (index: number, after: boolean) => {
    if (!visual(index)) return w('insertion_text');
    return after ? `${w('insertion_row')}${index - first}` : w('insertion_pad');
  };
  return (
    <Figure id="insertion" title={w('insertion_title')} description={w('insertion_desc')} width={shown.length * side + 90} height={196}
      table={{
        head: [w('insertion_index'), w('insertion_before'), w('insertion_after')],
        rows: shown.filter((index) => index >= 0).map((index) => [index, label(index, false), label(index, true)]),
      }}>
      {[false, true].map((after) => (
        <g>
          <text x={4} y={after ? 152 : 52} class="strong">{w(after ? 'insertion_after' : 'insertion_before')}</text>
          {shown.map((index, i) =>
            index < 0 ? <text x={90 + (i + 0.5) * side} y={after ? 152 : 52} text-anchor="middle">…</text>
              : <Box x={90 + i * side} y={after ? 124 : 24} width={side - 8} height={46} kind={visual(index) ? (after ? 'merge' : 'vision') : 'text'} lines={[label(index, after)]} />,
          )}
        </g>
      ))}
      {shown.map((index, i) => index >= 0 && (
        <g>
          <text x={90 + i * side + (side - 8) / 2} y={16} text-anchor="middle" class="minor">{index}</text>
          <Arrow kind={visual(index) ? 'merge' : 'line'} points={[[90 + i * side + (side - 8) / 2, 74], [90 + i * side + (side - 8) / 2, 120]]} />
        </g>
      ))}
    </Figure>
  );
}
