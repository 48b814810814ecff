// Runs the engine for the site and keeps what the pages show: generated/engine/*.json, pictures beside them.
// Used by build.mjs; the documents are those of docs/trace.md, without what no page reads.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const kBytes = 64 * 1024 * 1024; // of one document

/** What is recorded: pictures or a folder of frames, and a question, for the demo checkpoint. */
export const kRuns = {
  red: { pictures: ['demo/pictures/red.png'], question: 'What colour is it?' },
  scene: { pictures: ['demo/pictures/scene.png'], question: 'What do you see?' },
  photo: { pictures: ['tests/data/images/flower-444.jpg'], question: 'What do you see?' },
  two: { pictures: ['demo/pictures/red.png', 'demo/pictures/digit.png'], question: 'What do you see?' },
  clip: { pictures: [], clip: { folder: 'demo/heldout/clips/0018', rate: 2 }, question: 'Where does it move?' },
};
const kShapes = { name: 'shapes', model: 'qwen3.5-2b' }; // a published size without weights

const frames_of = (repository, { folder }) => readdirSync(join(repository, folder)).sort().map((name) => `${folder}/${name}`);

/** Every file that the recording reads, below the repository. */
export function recorded_files(repository) {
  return Object.values(kRuns).flatMap(({ pictures, clip }) => [...pictures, ...(clip ? frames_of(repository, clip) : [])]);
}

const slim_tensor = ({ name, shape, dtype, stats, histogram, row_norms }) => ({ name, shape, dtype, stats, histogram, row_norms });
const bare_tensor = ({ name, shape, dtype }) => ({ name, shape, dtype });

/** The document without inner values, maps of inputs and names of functions. */
function slim(document) {
  const events = document.events.map(({ inner, caller, ...event }) => ({
    ...event, in: event.in.map(bare_tensor), out: event.out.map(slim_tensor), caller: caller && { file: caller.file, line: caller.line },
  }));
  return { ...document, inputs: document.inputs.map(slim_tensor), events };
}

/** Kind of attention of each language layer, from the module tree. */
function layers_of(modules) {
  const kinds = [];
  for (const { path } of modules) {
    const [, index, kind] = /language_model\.layers\.(\d+)\.(linear_attn|self_attn)$/.exec(path) ?? [];
    if (kind) kinds[Number(index)] = kind === 'linear_attn' ? 'linear' : 'full';
  }
  return kinds;
}

/** Weights of the first layer of each kind, which the others of its kind share: name below the layer, and shape. */
function weights_of(modules, kinds) {
  const of = (kind) => {
    const layer = `model.language_model.layers.${kinds.indexOf(kind)}.`;
    return modules.flatMap(({ tensors }) => tensors).filter(({ name }) => name.startsWith(layer)).map(({ name, shape }) => ({ name: name.slice(layer.length), shape }));
  };
  return { linear: of('linear'), full: of('full') };
}

/** Bytes of the cache for every token and for whatever length; prompts are whole blocks, which the cache grows by. */
function cache_of(bytes) {
  const [picture, block] = [64, 64]; // tokens of the picture that a walk without weights has, and of a block
  const short = bytes(String(block));
  const per_token = (bytes(String(2 * block)) - short) / block;
  return { per_token, constant: short - per_token * (picture + block) };
}

/** Groups of a clip as the engine took them: frames, time stamp, place in the prompt. Frames lie beside the document. */
function groups_of(trace, { indices }, files) {
  const { grid, runs } = trace.pictures[0];
  const stamps = [...trace.prompt.matchAll(/<([\d.]+) seconds>/g)].map((match) => match[1]);
  if (stamps.length !== grid[0]) throw new Error(`clip: ${stamps.length} stamps for ${grid[0]} groups`);
  const size = Math.ceil(indices.length / grid[0]);
  return runs.map((run, g) => {
    const frames = indices.slice(g * size, (g + 1) * size).map((index) => ({ index, file: files[index], again: false }));
    while (frames.length < size) frames.push({ ...frames.at(-1), again: true });
    return { frames, stamp: stamps[g], first: run.first, tokens: run.tokens };
  });
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
  write('layers', models.map(({ name }) => {
    const tree = ask('inspect', name).modules;
    const kinds = layers_of(tree);
    return { name, kinds, weights: weights_of(tree, kinds), ...cache_of((tokens) => cache(name, tokens)) };
  }));
  write('hidden', ask('hidden', 'demo', '-i', kRuns.red.pictures[0], kRuns.red.question));
  const copy = (file, name) => {
    copyFileSync(join(repository, file), join(folder, name));
    return name;
  };
  for (const [name, { pictures, clip, question }] of Object.entries(kRuns)) {
    const input = [...pictures.flatMap((file) => ['-i', file]), ...(clip ? ['--video', clip.folder, '--video-fps', String(clip.rate)] : [])];
    const answer = ask('run', 'demo', ...input, question);
    const trace = ask('trace', 'demo', ...input, question, '--maps', '--full');
    const frames = clip && frames_of(repository, clip).map((file) => copy(file, `${name}-${basename(file)}`));
    write(name, {
      ...slim(trace), question, answer: answer.text, command: `sightline trace demo ${input.join(' ')} "${question}" --json --maps`,
      files: pictures.map((file) => copy(file, basename(file))),
      clip: clip && { frames: frames.length, rate: clip.rate, groups: groups_of(trace, answer.pictures[0].video, frames) },
    });
  }
  const shapes = ['trace', kShapes.model, '--shapes-only', '--full'];
  write(kShapes.name, { ...slim(ask(...shapes)), command: `sightline ${shapes.join(' ')} --json`, files: [] });
}
