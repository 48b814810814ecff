// The module that the page runs, on all 122 golden cases of the calculator. Protects: a page whose figures differ from
// the reference's processors, and a case that nobody looked at.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load_calc, result_rows, size_steps } from '../generated/server/server.js';

const cases = JSON.parse(readFileSync(new URL('../../tests/data/calc/cases.json', import.meta.url)));
const calc = await load_calc();
const kBetweenGroups = 3; // text tokens between the groups of the golden clip
let seen = 0;

function expect_problem(answer, error, where) {
  assert.ok(answer.problem, where);
  const expected =
    error.type === 'ZeroDivisionError' ? 'height: expected an integer from 1 to 1000000, found 0' : error.message;
  assert.equal(answer.problem.message, expected, where);
}

function check_size(input, output, where) {
  const answer = calc.calc({ ...input, cap_pixels_per_frame: input.cap_pixels_per_frame ? 'true' : undefined });
  if (output.error) return expect_problem(answer, output.error, where);
  const { details, ...rows } = answer;
  assert.deepEqual(rows, output, where);
  assert.equal(details.model, input.model);
  check_reasons(input, answer, where);
  for (const { key, value, math, source } of result_rows(calc, { rows: answer, fields: input })) {
    assert.ok(math.endsWith(value) && source, `${where}: ${key}: ${math} is not ${value}`);
  }
}

/** The lines that explain a size end in the sides that the engine computed. */
function check_reasons(fields, rows, where) {
  if (rows.details.size_rule === 'as given') return;
  const sides = [rows.resized_height, rows.resized_width].map((side) => side.toLocaleString('en-US'));
  const steps = size_steps(calc, { rows, fields });
  if (rows.details.size_rule === 'one block thick') return assert.match(steps.at(-1).math, new RegExp(`= (${sides.join('|')})$`), where);
  const math = steps.filter(({ label }) => ['step_round', 'step_floor', 'step_ceil'].includes(label)).at(-1).math;
  assert.deepEqual([...math.matchAll(/= ([\d,]*\d)(?=,  |$)/g)].map((match) => match[1]), sides, where);
}

function check_sampling(input, output, where, qwen) {
  const answer = calc.sample({ ...input, native_fps: input.native_fps ?? undefined, model: qwen ? 'qwen3.5-2b' : 'gemma-4-31b' });
  if (output.error) return expect_problem(answer, output.error, where);
  for (const key of ['count', 'first', 'last', 'groups']) if (key in output) assert.equal(answer[key], output[key], where);
  if (output.indices) assert.deepEqual(answer.indices, output.indices, where);
  const cut = output.timestamps.indexOf('...');
  assert.deepEqual(answer.timestamps.slice(0, cut < 0 ? undefined : cut), output.timestamps.slice(0, cut < 0 ? undefined : cut), where);
  assert.equal(answer.timestamps.at(-1), output.timestamps.at(-1), where);
}

function check_positions(input, output, where) {
  const segments = input.segments.flatMap((part) => {
    if (typeof part === 'number') return [String(part)];
    const [, t, h, w] = part;
    return Array.from({ length: t }, (_, i) => (i === 0 ? [`1x${h}x${w}`] : [String(kBetweenGroups), `1x${h}x${w}`])).flat();
  });
  for (const [index, expected] of Object.entries(output.at)) {
    const answer = calc.positions({ segments: segments.join(' '), first: index, count: 1 });
    assert.deepEqual(answer.positions, [expected], where);
    for (const key of ['length', 'delta', 'next_position']) assert.equal(answer[key], output[key], where);
  }
}

function check_video_prompt(input, output, where) {
  const [, h, w] = input.video_grid_thw;
  let text = '';
  for (let i = 0; i < input.frames_indices.length; i += 2) {
    const pair = input.frames_indices.slice(i, i + 2);
    const merge = calc.table.constants.merge;
    const tokens = (h / merge) * (w / merge);
    text += `${calc.stamp(pair[0], pair.at(-1), input.fps ?? calc.table.constants.unknown_rate)}<|vision_start|>${'V'.repeat(tokens)}<|vision_end|>`;
  }
  assert.equal(text, output.text, where);
}

test('all golden cases through the module of the page', () => {
  for (const { variant, input, output } of cases) {
    const where = `${variant} ${JSON.stringify(input)}`;
    const kind = variant.split('/')[1];
    if (kind === 'sampling') check_sampling(input, output, where, variant.startsWith('qwen'));
    else if (kind === 'positions') check_positions(input, output, where);
    else if (kind === 'video-prompt') check_video_prompt(input, output, where);
    else check_size(input, output, where);
    seen += 1;
  }
  assert.equal(seen, 122);
});

test('numbers are read strictly', () => {
  for (const height of ['1e3', '+5', ' 5', '5 ', '5.0', '0x10', '', '-']) {
    const answer = calc.calc({ height });
    if (height === '') assert.equal(answer.resized_height, 512);
    else assert.equal(answer.problem?.code, 'out_of_range', height);
  }
});
