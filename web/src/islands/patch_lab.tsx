// The patch lab: a picture of the reader's, cut as the processor cuts it. It is read by the browser and goes nowhere.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Rows } from '../calc';
import { Field, Select } from '../calculator/fields';
import { problem_text } from '../calculator/problem_text';
import { canvas_size, draw_lab, draw_sample, kSample, scaled_copy } from '../patches/drawing';
import { layout_of, order_place, patch_facts, type Layout, type Order } from '../patches/order';
import { use_page } from '../page_context';

// One model of each way to cut a picture; the others of its kind do the same.
const kModels = ['qwen3.5-2b', 'gemma-4-31b', 'gemma-4-12b'] as const;
const kMostBefore = 9999;
const kBefore = 4; // text tokens before the picture, as the demo template has

interface Picture {
  name: string;
  width: number;
  height: number;
  draw: (context: CanvasRenderingContext2D, width: number, height: number) => void;
}

const sample = (name: string): Picture => ({ name, ...kSample, draw: draw_sample });

async function picture_of(file: File): Promise<Picture> {
  const bitmap = await createImageBitmap(file, { imageOrientation: 'from-image' });
  return { name: file.name, width: bitmap.width, height: bitmap.height, draw: (context, width, height) => context.drawImage(bitmap, 0, 0, width, height) };
}

function Chooser({ take }: { take: (file: File) => void }) {
  const { t } = use_page();
  const first = (list?: FileList | null) => list?.[0] && take(list[0]);
  useEffect(() => {
    const paste = (event: ClipboardEvent) => first(event.clipboardData?.files);
    addEventListener('paste', paste);
    return () => removeEventListener('paste', paste);
  }, []);
  return (
    <label class="drop" onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); first(event.dataTransfer?.files); }}>
      <span>{t('lab_choose')}</span>
      <input id="picture" type="file" accept="image/*" onChange={(event) => first(event.currentTarget.files)} />
      <span class="hint">{t('lab_private')}</span>
    </label>
  );
}

/** What the patch under the mark is, in words and as data for whoever reads the page by program. */
function Answer({ rows, layout, place, before }: { rows: Rows; layout: Layout; place: ReturnType<typeof patch_facts>; before: number }) {
  const { t } = use_page();
  const cells: [string, string][] = [
    [t('lab_row'), `${place.row}`], [t('lab_slot'), `${place.slot}`], [t('lab_token'), `${place.token}`], [t('lab_index'), `${before + place.token}`],
    [t(layout.axes ? 'lab_position' : 'lab_position_one'), layout.axes ? `(${place.position.join(', ')})` : `${place.position[0]}`], [t('lab_pixels'), `y ${place.top}–${place.bottom}, x ${place.left}–${place.right}`],
  ];
  return (
    <dl class="answer" id="patch-answer" data-grid={rows.image_grid_thw?.join(' ')} data-tokens={rows.visual_tokens} data-row={place.row}
      data-slot={place.slot} data-token={place.token} data-position={place.position.join(' ')}>
      {cells.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

interface GridProps {
  picture: Picture;
  rows: Rows;
  layout: Layout;
  at: { y: number; x: number };
  order: Order;
  step: number;
  move: (y: number, x: number) => void;
}

/** The picture with its patches: one stop of the Tab key, arrows move the mark, the pointer too. */
function Grid({ picture, rows, layout, at, order, step, move }: GridProps) {
  const { t, calc } = use_page();
  const canvas = useRef<HTMLCanvasElement>(null);
  const mark = useRef<HTMLDivElement>(null);
  const scaled = useMemo(() => (typeof document === 'undefined' ? null : scaled_copy(rows, picture.draw)), [picture, layout.h, layout.w]);
  const { h: grid_rows, w: grid_cols } = layout;
  useEffect(() => {
    if (canvas.current && scaled) draw_lab(canvas.current, calc, scaled, layout, at, order, step);
    if (!mark.current) return;
    Object.assign(mark.current.style, {
      left: `${(100 * at.x) / grid_cols}%`, top: `${(100 * at.y) / grid_rows}%`, width: `${100 / grid_cols}%`, height: `${100 / grid_rows}%`,
    });
  });
  const point = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const part = (value: number, start: number, size: number, count: number) => Math.min(count - 1, Math.max(0, Math.floor(((value - start) / size) * count)));
    move(part(event.clientY, box.top, box.height, grid_rows), part(event.clientX, box.left, box.width, grid_cols));
  };
  const key = (event: KeyboardEvent) => {
    const far = event.ctrlKey ? 8 : 1;
    const to: Record<string, [number, number]> = {
      ArrowUp: [at.y - far, at.x], ArrowDown: [at.y + far, at.x], ArrowLeft: [at.y, at.x - far], ArrowRight: [at.y, at.x + far],
      Home: [at.y, 0], End: [at.y, grid_cols - 1], PageUp: [0, at.x], PageDown: [grid_rows - 1, at.x],
    };
    if (!to[event.key]) return;
    event.preventDefault();
    const [y, x] = to[event.key];
    move(Math.min(grid_rows - 1, Math.max(0, y)), Math.min(grid_cols - 1, Math.max(0, x)));
  };
  return (
    <div class="patches">
      <canvas ref={canvas} {...canvas_size(rows)} onPointerMove={point} onPointerDown={point} aria-hidden="true" />
      <div role="grid" aria-label={t('lab_grid')} aria-rowcount={grid_rows} aria-colcount={grid_cols} onKeyDown={key}>
        <div role="row" aria-rowindex={at.y + 1}>
          <div role="gridcell" class="patch-mark" ref={mark} tabIndex={0} aria-colindex={at.x + 1} aria-label={t('lab_cell', { y: at.y, x: at.x })} />
        </div>
      </div>
    </div>
  );
}

function Steps({ layout, order, step, set }: { layout: Layout; order: Order; step: number; set: (order: Order, step: number) => void }) {
  const { t } = use_page();
  const last = layout.h * layout.w - 1;
  return (
    <div class="actions" role="group" aria-label={t('lab_order')}>
      {layout.rows > 1 && (['blocks', 'lines'] as const).map((name) => (
        <label class="check"><input type="radio" name="order" checked={order === name} onChange={() => set(name, step)} />{t(`lab_${name}`)}</label>
      ))}
      <button type="button" disabled={step === 0} onClick={() => set(order, step - 1)}>{t('previous')}</button>
      <button type="button" disabled={step === last} onClick={() => set(order, step + 1)}>{t('next')}</button>
      <span class="small">{t('step_of', { i: step + 1, n: last + 1 })}</span>
    </div>
  );
}

export function PatchLab() {
  const page = use_page();
  const { t, calc } = page;
  const [model, set_model] = useState<string>(kModels[0]);
  const [picture, set_picture] = useState(() => sample(''));
  const [at, set_at] = useState({ y: 0, x: 0 });
  const [order, set_order] = useState<Order>('blocks');
  const [step, set_step] = useState(0);
  const [before, set_before] = useState(`${kBefore}`);
  const [problem, set_problem] = useState('');
  const answer = calc.calc({ model, height: picture.height, width: picture.width });
  const rows = answer.problem ? undefined : answer;
  const layout = rows && layout_of(calc, calc.model(model)!, rows);
  const good = /^\d{1,4}$/.test(before);
  const text = good ? Number(before) : kBefore;
  const restart = () => {
    set_at({ y: 0, x: 0 });
    set_step(0);
  };
  const take = (file: File) => {
    set_problem('');
    picture_of(file).then((next) => { set_picture(next); restart(); }, () => set_problem(t('lab_unreadable', { name: file.name })));
  };
  const walk = (next: Order, to: number) => {
    set_order(next);
    set_step(to);
    set_at(order_place(calc, layout!, next, to));
  };
  return (
    <section class="lab" aria-label={t('title_patches')} data-picture={`${picture.height} ${picture.width}`}>
      <Chooser take={take} />
      <div class="two">
        <Select name="m" value={model} options={kModels.map((value) => ({ value, text: t(`lab_model_${value}`) }))} set={(value) => { set_model(value); restart(); }} />
        <Field name="before" value={before} set={set_before} problem={good ? undefined : t('problem_out_of_range', { low: 0, high: kMostBefore })} />
      </div>
      <p class="actions"><button type="button" onClick={() => { set_picture(sample('')); restart(); }}>{t('lab_sample')}</button></p>
      {(problem || answer.problem) && <p class="notice problem" role="alert">{problem || problem_text(page, answer.problem!)}</p>}
      {rows && layout && (
        <>
          <p id="patch-size">{t('lab_size', { h: picture.height, w: picture.width, H: rows.resized_height, W: rows.resized_width, rows: layout.h, cols: layout.w, tokens: rows.visual_tokens })}</p>
          <Grid picture={picture} rows={rows} layout={layout} at={at} order={order} step={step} move={(y, x) => set_at({ y, x })} />
          <div aria-live="polite"><Answer rows={rows} layout={layout} before={text} place={patch_facts(calc, layout, text, at.y, at.x)} /></div>
          <Steps layout={layout} order={order} step={step} set={walk} />
          <p class="prose" id="patch-way">{t(`lab_way_${model}` as 'lab_way_qwen3.5-2b')}</p>
          <p class="small">{t('lab_keys')}</p>
        </>
      )}
    </section>
  );
}
