// The canvas of the patch lab: the picture at its new size, the lines of patches and blocks, the way through the rows.
import type { Calc, Rows } from '../calc';
import { order_place, type Layout, type Order } from './order';

/** Size of the built-in picture. */
export const kSample = { width: 300, height: 200 };
const kLongest = 1280; // pixels of the canvas's longer side
const kEnlarged = 3; // small pictures are shown larger, so that patches can be pointed at
const kTrail = 48; // steps of the way that stay visible
const kFinest = 7; // narrower patches are not outlined, only blocks

/** A drawn scene, so that the lab has something to show before a picture is chosen. */
export function draw_sample(context: CanvasRenderingContext2D, width: number, height: number) {
  const x = (part: number) => part * width;
  const y = (part: number) => part * height;
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, '#9cc9e8');
  sky.addColorStop(0.7, '#f4e7cf');
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = '#f2b632';
  context.beginPath();
  context.arc(x(0.76), y(0.27), y(0.13), 0, 2 * Math.PI);
  context.fill();
  for (const [colour, points] of [['#4f7f66', [0, 0.8, 0.3, 0.42, 0.62, 0.8]], ['#2f5d4c', [0.35, 0.8, 0.68, 0.5, 1, 0.8]]] as [string, number[]][]) {
    context.fillStyle = colour;
    context.beginPath();
    for (let i = 0; i < points.length; i += 2) context.lineTo(x(points[i]), y(points[i + 1]));
    context.fill();
  }
  context.fillStyle = '#7a5a3c';
  context.fillRect(0, y(0.8), width, y(0.2));
  context.fillStyle = '#b3352f';
  context.fillRect(x(0.14), y(0.64), x(0.16), y(0.24));
}

function lines(context: CanvasRenderingContext2D, count: number, step: number, length: number, across: boolean) {
  context.beginPath();
  for (let i = 1; i < count; ++i) {
    const at = Math.round(i * step) + 0.5;
    context.moveTo(across ? 0 : at, across ? at : 0);
    context.lineTo(across ? length : at, across ? at : length);
  }
  context.stroke();
}

function trail(context: CanvasRenderingContext2D, calc: Calc, layout: Layout, order: Order, step: number, side: number) {
  context.beginPath();
  for (let i = Math.max(0, step - kTrail); i <= step; ++i) {
    const { y, x } = order_place(calc, layout, order, i);
    context.lineTo((x + 0.5) * side, (y + 0.5) * side);
  }
  for (const [colour, width] of [['#ffffff', 5], ['#8a3b12', 2.5]] as [string, number][]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
  }
}

const scale_of = (rows: Rows) => Math.min(kEnlarged, kLongest / Math.max(rows.resized_height, rows.resized_width));

/** Size of the canvas; the finished HTML has it already, so that nothing moves. */
export const canvas_size = (rows: Rows) => ({
  width: Math.round(rows.resized_width * scale_of(rows)), height: Math.round(rows.resized_height * scale_of(rows)),
});

/** The picture at the size of the canvas, drawn once however often the mark moves. */
export function scaled_copy(rows: Rows, draw: (context: CanvasRenderingContext2D, width: number, height: number) => void): HTMLCanvasElement {
  const copy = document.createElement('canvas');
  Object.assign(copy, canvas_size(rows));
  draw(copy.getContext('2d')!, copy.width, copy.height);
  return copy;
}

/** The copy with its patches; `at` is marked with its block, the last steps of the walk are drawn. */
export function draw_lab(
  canvas: HTMLCanvasElement, calc: Calc, copy: HTMLCanvasElement, layout: Layout, at: { y: number; x: number }, order: Order, step: number,
) {
  const { h, w, block: merge } = layout;
  const side = copy.width / w;
  canvas.width = copy.width;
  canvas.height = copy.height;
  const context = canvas.getContext('2d')!;
  context.drawImage(copy, 0, 0);
  if (side >= kFinest) {
    context.lineWidth = 1;
    context.strokeStyle = 'rgb(255 255 255 / 0.45)';
    lines(context, h, side, canvas.width, true);
    lines(context, w, side, canvas.height, false);
  }
  context.lineWidth = 1.5;
  context.strokeStyle = 'rgb(20 20 20 / 0.7)';
  lines(context, h / merge, side * merge, canvas.width, true);
  lines(context, w / merge, side * merge, canvas.height, false);
  if (step > 0) trail(context, calc, layout, order, step, side);
  const block = { y: at.y - (at.y % merge), x: at.x - (at.x % merge) };
  for (const [colour, width] of [['#ffffff', 5], ['#9a5b00', 2.5]] as [string, number][]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(block.x * side, block.y * side, merge * side, merge * side);
    context.strokeRect(at.x * side, at.y * side, side, side);
  }
}
