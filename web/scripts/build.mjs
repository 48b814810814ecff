// Builds the site into web/dist: data from the engine, the calculator as WebAssembly, the page's script, the pages.
// usage: node scripts/build.mjs [path of the sightline binary]
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { record, recorded_files } from './record.mjs';

const kWeb = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const kRepository = resolve(kWeb, '..');
const kGenerated = join(kWeb, 'generated');
const kDist = join(kWeb, 'dist');

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `exit code ${status}`}`);
}

/** Runs `make` unless `output` was made from the same bytes. */
function cached(output, inputs, make) {
  const hash = createHash('sha256');
  for (const file of inputs) hash.update(file).update(readFileSync(file));
  const stamp = `${output}.stamp`;
  const digest = hash.digest('hex');
  if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  make();
  writeFileSync(stamp, digest);
}

const files_of = (folder, suffix) => readdirSync(folder).filter((name) => suffix.test(name)).sort().map((name) => join(folder, name));

function build_wasm() {
  const sources = [...files_of(join(kRepository, 'src/calc'), /\.[ch]pp$/), ...files_of(join(kWeb, 'wasm'), /./)];
  const output = join(kGenerated, 'calc.wasm');
  cached(output, sources, () => run('sh', ['web/wasm/build.sh', output, join(kGenerated, 'objects')], kRepository));
}

function record_engine(binary) {
  const pictures = recorded_files(kRepository).map((file) => join(kRepository, file));
  const folder = join(kGenerated, 'engine');
  cached(join(folder, 'models.json'), [binary, join(kWeb, 'scripts/record.mjs'), ...pictures], () => record(binary, kRepository, folder));
}

/** The files that a page loads, from the list that Vite writes. */
function assets_of() {
  const manifest = JSON.parse(readFileSync(join(kDist, 'manifest.json'), 'utf8'));
  rmSync(join(kDist, 'manifest.json'));
  const client = manifest['src/client.tsx'];
  return { script: client.file, theme: manifest['src/theme.ts'].file, styles: client.css ?? [] };
}

async function prerender() {
  const site = await import(pathToFileURL(join(kGenerated, 'server/server.js')));
  const assets = assets_of();
  const calc = await site.load_calc();
  let count = 0;
  for (const lang of site.kLangs) {
    for (const page of site.kPages) {
      const folder = join(kDist, lang, site.slug(page));
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'index.html'), site.render(calc, lang, page, assets));
      count += 1;
    }
  }
  writeFileSync(join(kDist, 'index.html'), site.render_entry(assets));
  cpSync(join(kGenerated, 'engine'), join(kDist, 'data'), { recursive: true, filter: (file) => !file.endsWith('.stamp') });
  console.log(`site: ${count} pages in web/dist`);
}

const vite = (...args) => run(process.execPath, ['node_modules/vite/bin/vite.js', 'build', ...args], kWeb);

mkdirSync(kGenerated, { recursive: true });
build_wasm();
record_engine(resolve(kRepository, process.argv[2] ?? 'build/release/sightline'));
run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], kWeb);
vite();
vite('--ssr', 'src/server.tsx');
await prerender();
