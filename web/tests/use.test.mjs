// What a reader does: type, press keys, choose a picture, follow links. Protects: answers of the page that differ from
// the engine's, inputs that are lost on the way, and parts that a keyboard cannot reach.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { open_site } from './browser.mjs';

const kRepository = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const kBinary = process.env.SIGHTLINE ?? join(kRepository, 'build/release/sightline');
// Sizes above and below the limits, photographs, every orientation that matters, transparency, one pixel.
const kPictures = [
  'demo/pictures/red.png', 'demo/pictures/scene.png', 'demo/pictures/four.jpg', 'demo/pictures/wide.webp', 'tests/data/images/flower-444.jpg',
  'tests/data/images/exif-6.jpg', 'tests/data/images/rgba.png', 'tests/data/images/one-pixel.png', 'tests/data/images/shapes-640x480.png',
  'tests/data/images/noise-200x300.png',
];
let site;

before(async () => { site = await open_site(); });
after(async () => {
  await site.close();
  assert.deepEqual(site.complaints, []);
});

const engine = (...args) => JSON.parse(execFileSync(kBinary, [...args, '--json'], { cwd: kRepository, encoding: 'utf8', maxBuffer: 1 << 26 }));

test('calculator: typing gives the engine’s rows, the address keeps them, the command says the same', async () => {
  const page = await site.open('en/calculator/');
  await page.fill('#field-h', '1080');
  await page.fill('#field-w', '1920');
  const tokens = () => page.locator('[data-row="row_tokens"] td').first().innerText();
  assert.equal(await tokens(), '2,040');
  assert.match(page.url(), /\?h=1080&w=1920$/);
  const command = (await page.locator('.command code').innerText()).split(' ').slice(1);
  assert.equal(engine(...command).visual_tokens, 2040);
  await page.fill('#field-h', '1e3');
  assert.equal(await page.locator('#field-h').getAttribute('aria-invalid'), 'true');
  assert.match(await page.locator('#problem-h').innerText(), /digits/);
  await page.reload();
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  assert.match(await page.locator('.notice').first().innerText(), /h=1e3/);
  await page.click('text=Reset');
  assert.equal(await tokens(), '256');
  await page.context().close();
});

test('calculator: the command gives what the page shows, in every mode and for every family', async () => {
  const page = await site.open('en/calculator/');
  const kQueries = [
    '?h=300&w=20&b=64', '?m=qwen3-vl-32b&mode=video&f=5&h=500&w=30', '?m=qwen3.5-2b&mode=video&n=1000&r=29.97&fps=3&h=720&w=1280&cap=true',
    '?m=gemma-4-e2b&h=480&w=10&b=70', '?m=gemma-4-12b&mode=video&n=100&k=40', '?m=qwen3.5-9b&mode=video-prepared&f=7&h=64&w=96', '?h=&w=77&min=1&max=5000',
  ];
  for (const query of kQueries) {
    await page.goto(page.url().replace(/\?.*|$/, query));
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
    const rows = engine(...(await page.locator('.command code').innerText()).split(' ').slice(1));
    const shown = async (key) => (await page.locator(`[data-row="${key}"] td`).first().innerText()).replaceAll(',', '');
    for (const [key, value] of Object.entries({ row_tokens: rows.visual_tokens, row_height: rows.resized_height, row_width: rows.resized_width, row_groups: rows.temporal_groups })) {
      assert.equal(await shown(key), String(value), `${query} ${key}`);
    }
    assert.equal(await page.locator('.notice').count(), 0, query);
  }
  await page.context().close();
});

test('the command is copied, or selected where the browser refuses', async () => {
  const page = await site.open('en/calculator/?h=300');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const command = await page.locator('.command code').innerText();
  await page.click('.command button');
  await page.locator('.command button', { hasText: 'Copied' }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command);
  await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); });
  await page.click('.command button');
  await page.waitForFunction((text) => String(getSelection()) === text, command);
  await page.context().close();
});

test('wrong input is explained beside its field, and the page lives on', async () => {
  const page = await site.open('zh/calculator/?mode=video&n=100&vs=gemma-4-31b');
  const kWrong = [
    ['r', '29,97', /29\.97/], ['r', '0', /大于 0/], ['fps', 'two', /29\.97/], ['n', '1', /至少要 2 帧/], ['k', '1e2', /整数/], ['h', '1e3', /整数/], ['w', '99999999', /1 到 1,000,000/],
  ];
  for (const [name, value, text] of kWrong) {
    const before = await page.inputValue(`#field-${name}`);
    await page.fill(`#field-${name}`, value);
    assert.match(await page.locator(`#problem-${name}`).innerText(), text, `${name}=${value}`);
    assert.ok((await page.locator(`#field-${name}`).getAttribute('aria-describedby')).includes(`problem-${name}`));
    await page.fill(`#field-${name}`, before);
    assert.equal(await page.locator('.hint.wrong').count(), 0, `${name}=${value} taken back`);
  }
  await page.goto(page.url().replace(/\?.*/, '?mode=video&f=100000&h=1000000&w=1000000'));
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  assert.match(await page.locator('#problem-h').innerText(), /相乘/);
  await page.goto(page.url().replace(/\?.*/, '?b=64&vs=gemma-4-31b'));
  await page.waitForSelector('.notice');
  assert.match(await page.locator('.notice').innerText(), /^gemma-4-31b: .*70, 140/);
  for (const [path, name, value] of [['video', 'r', 'abc'], ['video', 'n', '1'], ['compare', 'w', '1e3'], ['positions', 'h', '5000000'], ['positions', 'before', 'x'], ['patches', 'before', '12345']]) {
    await page.goto(page.url().replace(/[a-z]+\/(\?.*)?$/, `${path}/`));
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
    await page.fill(`#field-${name}`, value);
    assert.ok(await page.locator(`#problem-${name}`).isVisible(), `${path}: ${name}=${value}`);
  }
  await page.context().close();
});

test('calculator: the lines of reasons end in the engine’s sizes', async () => {
  const page = await site.open('en/calculator/?m=qwen3.5-9b&h=1080&w=1920&b=256#calculator');
  const steps = await page.locator('.steps').innerText();
  const height = await page.locator('[data-row="row_height"] td').first().innerText();
  const width = await page.locator('[data-row="row_width"] td').first().innerText();
  assert.match(steps, new RegExp(`= ${height},`));
  assert.match(steps, new RegExp(`= ${width}\\s*$`));
  await page.context().close();
});

test('the language keeps inputs and place; going back restores them', async () => {
  const page = await site.open('en/guide/?h=1080&w=1920&vs=gemma-4-31b#calculator');
  await page.click('#language');
  await page.waitForFunction(() => document.documentElement.lang === 'zh-Hans' && document.documentElement.dataset.ready === 'true');
  assert.match(page.url(), /zh\/guide\/\?h=1080&w=1920&vs=gemma-4-31b#calculator$/);
  assert.equal(await page.inputValue('#field-h'), '1080');
  await page.goBack();
  await page.waitForFunction(() => document.documentElement.lang === 'en' && document.documentElement.dataset.ready === 'true');
  assert.equal(await page.inputValue('#field-w'), '1920');
  await page.context().close();
});

test('the Tab key reaches everything in reading order, and one sees where it is', async () => {
  const page = await site.open('en/calculator/');
  const seen = [];
  for (let i = 0; i < 14; ++i) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(() => {
      const { id, className, tagName } = document.activeElement;
      const outlined = getComputedStyle(document.activeElement).outlineStyle !== 'none';
      return `${id || className || tagName}${outlined ? '' : ' without a frame'}`;
    }));
  }
  assert.deepEqual(seen.slice(0, 9), ['skip', 'brand', 'language', 'theme', 'field-m', 'field-mode', 'field-h', 'field-w', 'field-vs']);
  assert.deepEqual(seen.filter((name) => name.endsWith('frame')), []);
  await page.context().close();
});

test('stations: arrows, Home and End; the address opens one', async () => {
  const page = await site.open('en/guide/#station-merger');
  assert.equal(await page.locator('[role="tab"][aria-selected="true"]').getAttribute('id'), 'tab-merger');
  await page.focus('#tab-merger');
  for (const [key, id] of [['ArrowRight', 'difference'], ['ArrowRight', 'encoder'], ['End', 'difference'], ['Home', 'encoder']]) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => document.activeElement.id), `tab-${id}`);
  }
  await page.context().close();
});

test('an enlarged drawing closes with Escape and gives the focus back', async () => {
  const page = await site.open('zh/guide/');
  await page.locator('#fig-flow button[data-zoom]').focus();
  await page.keyboard.press('Enter');
  assert.ok(await page.locator('dialog.zoom svg').isVisible());
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('dialog').count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.zoom), 'fig-flow');
  await page.context().close();
});

/** Row, slot, token and position that the lab shows at its mark. */
const shown = (page) => page.locator('#patch-answer').evaluate(({ dataset }) => ({ ...dataset }));

test('patch lab: ten pictures agree with `sightline merge`', async () => {
  const page = await site.open('en/patches/');
  for (const picture of kPictures) {
    const merged = engine('merge', 'demo', '-i', picture, 'What is this?');
    const [{ grid, first, tokens }] = merged.pictures;
    const before = await page.locator('#patch-size').innerText();
    await page.setInputFiles('#picture', join(kRepository, picture));
    await page.fill('#field-before', String(first));
    await page.waitForFunction((text) => document.querySelector('#patch-size')?.textContent !== text, before, { timeout: 5000 }).catch(() => {});
    assert.equal((await shown(page)).grid, grid.join(' '), picture);
    assert.equal((await shown(page)).tokens, String(tokens), picture);
    await page.focus('.patch-mark');
    for (const key of ['Home', 'PageUp', 'ArrowRight', 'ArrowDown', 'End', 'PageDown', 'ArrowLeft', 'ArrowUp']) {
      await page.keyboard.press(key);
      const now = await shown(page);
      const index = first + Number(now.token);
      assert.equal(Math.floor(Number(now.row) / 4), Number(now.token), picture);
      assert.equal(Number(now.row) % 4, Number(now.slot), picture);
      assert.equal(now.position, merged.positions.map((axis) => axis[index]).join(' '), `${picture} after ${key}`);
    }
  }
  await page.context().close();
});

test('patch lab: windows of Gemma 4, by pointer and by keys; a picture of 4096 × 4096', async () => {
  const page = await site.open('zh/patches/');
  await page.selectOption('#field-m', 'gemma-4-31b');
  const gemma = engine('calc', '--model', 'gemma-4-31b', '--height', '200', '--width', '300');
  assert.equal((await shown(page)).tokens, String(gemma.visual_tokens));
  const box = await page.locator('.patches canvas').boundingBox();
  const [y, x] = [7, 11];
  await page.mouse.move(box.x + (box.width * (x + 0.5)) / gemma.grid_cols, box.y + (box.height * (y + 0.5)) / gemma.grid_rows);
  // Rows line by line; windows of three by three line by line; one position, the index behind four tokens of text.
  const token = Math.floor(y / 3) * (gemma.grid_cols / 3) + Math.floor(x / 3);
  const expected = { row: y * gemma.grid_cols + x, slot: (y % 3) * 3 + (x % 3), token, position: 4 + token };
  const pick = ({ row, slot, token, position }) => ({ row: Number(row), slot: Number(slot), token: Number(token), position: Number(position) });
  assert.deepEqual(pick(await shown(page)), expected);
  await page.focus('.patch-mark');
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(pick(await shown(page)), { row: expected.row + 1, slot: expected.slot === 8 ? 6 : expected.slot - 2, token: token + 1, position: 5 + token });
  await page.selectOption('#field-m', 'gemma-4-12b');
  await page.focus('.patch-mark');
  for (const key of ['End', 'PageDown']) await page.keyboard.press(key);
  const unified = engine('calc', '--model', 'gemma-4-12b', '--height', '200', '--width', '300');
  assert.deepEqual(pick(await shown(page)), { row: unified.visual_tokens - 1, slot: 8, token: unified.visual_tokens - 1, position: 3 + unified.visual_tokens });
  await page.selectOption('#field-m', 'qwen3.5-2b');
  const large = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(4096, 4096);
    canvas.getContext('2d').fillRect(0, 0, 4096, 2048);
    return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
  });
  await page.setInputFiles('#picture', { name: 'large.png', mimeType: 'image/png', buffer: Buffer.from(large) });
  await page.waitForFunction(() => document.querySelector('#patch-answer').dataset.grid === '1 256 256');
  await page.focus('.patch-mark');
  for (const key of ['End', 'PageDown']) await page.keyboard.press(key);
  const { visual_tokens: last } = engine('calc', '--model', 'qwen3.5-2b', '--height', '4096', '--width', '4096');
  assert.deepEqual({ ...(await shown(page)) }, { grid: '1 256 256', tokens: String(last), row: '65535', slot: '3', token: String(last - 1), position: '4 131 131' });
  await page.context().close();
});

test('the recorded clip shows the engine’s groups, stamps and places', async () => {
  const page = await site.open('zh/trace/?run=clip');
  await page.waitForSelector('#clip li');
  const words = (await page.locator('.command code').innerText()).match(/"[^"]*"|\S+/g).map((word) => word.replaceAll('"', ''));
  const { prompt, positions, pictures: [{ grid, runs }] } = engine(...words.slice(1).filter((word) => !word.startsWith('--json')));
  assert.equal(await page.locator('#clip li').count(), grid[0]);
  for (const [g, { first, tokens }] of runs.entries()) {
    const text = (await page.locator('#clip li').nth(g).innerText()).replaceAll('\u00a0', ' ');
    const corner = positions.map((axis) => axis[first + tokens - 1]).join(', ');
    assert.ok(text.includes(`${tokens} 个 token，序号 ${first} 到 ${first + tokens - 1}`) && text.includes(`到 (${corner})`), text);
    assert.ok(text.includes(prompt.match(/<[\d.]+ seconds>/g)[g]), text);
  }
  assert.ok(await page.locator('#clip img').evaluateAll((frames) => frames.length > 0 && frames.every((frame) => frame.naturalWidth > 0)));
  assert.equal(await page.locator('.token-strip .visual').count(), grid[0]);
  assert.equal(await page.locator('.norms rect').count(), grid[0] * grid[1] * grid[2]);
  await page.context().close();
});

test('video lab, positions, layers, recorded runs and questions answer', async () => {
  const page = await site.open('en/video/');
  assert.match(await page.locator('#video-summary').innerText(), /^19 of 291 frames/);
  assert.equal(await page.locator('#video-groups tbody tr').count(), 10);
  await page.fill('#field-fps', '');
  await page.fill('#field-n', '1000000');
  await page.fill('#field-k', '100000');
  const long = engine('calc', '--mode', 'video', '--total-frames', '1000000', '--native-fps', '30', '--num-frames', '100000', '--height', '720', '--width', '1280');
  const summary = await page.locator('#video-summary').innerText();
  assert.ok(summary.includes(`last stamp reads ${long.sampling.timestamps.at(-1)} seconds`), summary);
  await page.goto(page.url().replace('video/', 'positions/'));
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  assert.match(await page.locator('#pos-summary').innerText(), /position 24: -56/);
  await page.goto(page.url().replace('positions/', 'layers/'));
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  await page.focus('#layer-3');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.locator('#layer-4').getAttribute('aria-pressed'), 'true');
  const weights = engine('inspect', 'qwen3.5-2b').modules.flatMap(({ tensors }) => tensors).filter(({ name }) => name.includes('.layers.4.'));
  const listed = await page.locator('#layer-weights tbody tr').evaluateAll((rows) => rows.map((row) => row.textContent.replaceAll(/[, ]/g, '')));
  assert.deepEqual(listed, weights.map(({ name, shape }) => `${name.split('.layers.4.')[1]}${JSON.stringify(shape)}`.replaceAll(',', '')));
  await page.goto(page.url().replace('layers/', 'trace/?run=two'));
  await page.waitForFunction(() => document.querySelectorAll('.run-head img').length === 2);
  assert.equal(await page.locator('#proof-table .good').count(), 4);
  await page.selectOption('#run', 'shapes');
  await page.waitForFunction(() => document.querySelectorAll('#stage-table tbody tr').length === 54);
  await page.goto(page.url().replace(/trace\/.*/, 'quiz/'));
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  await page.locator('#sizes input').nth(1).check();
  assert.match(await page.locator('#quiz-score').innerText(), /^1 of 12 right/);
  await page.reload();
  await page.waitForFunction(() => document.querySelector('#quiz-score').textContent.startsWith('1 of 12'));
  await page.context().close();
});
