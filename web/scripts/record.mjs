// Runs the engine for the site and keeps what the pages show: generated/engine/*.json, pictures beside them.
// Used by build.mjs; the documents are those of docs/trace.md, without what no page reads.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const kBytes = 64 * 1024 * 1024; // of one document

/** What is recorded: pictures and question for the demo checkpoint, or a published size without weights. */
export const kRuns = {
  red: { pictures: ['demo/pictures/red.png'], question: 'What colour is it?' },
  scene: { pictures: ['demo/pictures/scene.png'], question: 'What do you see?' },
  photo: { pictures: ['tests/data/images/flower-444.jpg'], question: 'What do you see?' },
  two: { pictures: ['demo/pictures/red.png', 'demo/pictures/digit.png'], question: 'What do you see?' },
};
const kShapes = { name: 'shapes', model: 'qwen3.5-2b' };

const slim_tensor = ({ name, shape, dtype, stats, histogram, row_norms }) => ({ name, shape, dtype, stats, histogram, row_norms });
const bare_tensor = ({ name, shape, dtype }) => ({ name, shape, dtype });

/** The document without inner values, maps of inputs and names of functions. */
function slim(document) {
  const events = document.events.map(({ inner, caller, ...event }) => ({
    ...event, in: event.in.map(bare_tensor), out: event.out.map(slim_tensor), caller: caller && { file: caller.file, line: caller.line },
  }));
  return { ...document, inputs: document.inputs.map(slim_tensor), events };
}

/** Kind of attention of each language layer, and the shapes of its weights, from the module tree. */
function layers_of(modules) {
  const kinds = [];
  for (const { path } of modules) {
    const [, index, kind] = /language_model\.layers\.(\d+)\.(linear_attn|self_attn)$/.exec(path) ?? [];
    if (kind) kinds[Number(index)] = kind === 'linear_attn' ? 'linear' : 'full';
  }
  return kinds;
}

/** Bytes of the cache for every token and for whatever length; prompts are whole blocks, which the cache grows by. */
function cache_of(bytes) {
  const [picture, block] = [64, 64]; // tokens of the picture that a walk without weights has, and of a block
  const short = bytes(String(block));
  const per_token = (bytes(String(2 * block)) - short) / block;
  return { per_token, constant: short - per_token * (picture + block) };
}

export function record(binary, repository, folder) {
  const ask = (...args) => JSON.parse(execFileSync(binary, [...args, '--json'], { cwd: repository, maxBuffer: kBytes, encoding: 'utf8' }));
  const write = (name, value) => writeFileSync(join(folder, `${name}.json`), JSON.stringify(value));
  mkdirSync(folder, { recursive: true });
  const { models } = ask('models');
  write('models', { models });
  write('graph', ask('graph', kShapes.model));
  const { report, children, same_object, modules } = ask('inspect', kShapes.model);
  write('inspect', { report, children, same_object, modules: modules.filter(({ path }) => !path.includes('.layers.') && !/blocks\.[1-9]/.test(path)) });
  const cache = (name, tokens) => ask('trace', name, '--shapes-only', '--level', 'root', '--tokens', tokens).totals.cache_bytes;
  write('layers', models.map(({ name }) => ({ name, kinds: layers_of(ask('inspect', name).modules), ...cache_of((tokens) => cache(name, tokens)) })));
  write('hidden', ask('hidden', 'demo', '-i', kRuns.red.pictures[0], kRuns.red.question));
  for (const [name, { pictures, question }] of Object.entries(kRuns)) {
    const given = ['demo', ...pictures.flatMap((file) => ['-i', file]), question];
    const { text } = ask('run', ...given);
    const command = `sightline trace demo ${pictures.map((file) => `-i ${file}`).join(' ')} "${question}" --json --maps`;
    write(name, { ...slim(ask('trace', ...given, '--maps', '--full')), question, answer: text, command, files: pictures.map((file) => basename(file)) });
    for (const file of pictures) copyFileSync(join(repository, file), join(folder, basename(file)));
  }
  const shapes = ['trace', kShapes.model, '--shapes-only', '--full'];
  write(kShapes.name, { ...slim(ask(...shapes)), command: `sightline ${shapes.join(' ')} --json`, files: [] });
}
