// Positions as points in space, turned by the reader; text is a filled square, a visual token a ring.
import { useState } from 'preact/hooks';
import { use_page } from '../page_context';

interface Point {
  visual: boolean;
  position: [number, number, number];
}

const kSize = { width: 720, height: 420 };
const kTurn = 15; // degrees of one step

/** Time to the right, height downwards, width in depth, turned about the upright axis. */
function projection(turn: number, low: number, high: number) {
  const angle = (turn * Math.PI) / 180;
  const scale = 250 / Math.max(1, high - low);
  const middle = (low + high) / 2;
  return ([t, h, w]: [number, number, number]): [number, number] => {
    const x = (t - middle) * scale, y = (h - middle) * scale, z = (w - middle) * scale;
    const across = x * Math.cos(angle) + z * Math.sin(angle);
    const depth = z * Math.cos(angle) - x * Math.sin(angle);
    return [kSize.width / 2 + across, kSize.height / 2 + y * 0.8 + depth * 0.35];
  };
}

export function Space({ tokens }: { tokens: Point[] }) {
  const { t } = use_page();
  const [turn, set_turn] = useState(30);
  const values = tokens.flatMap((token) => token.position);
  const low = Math.min(...values, 0), high = Math.max(...values, 1);
  const place = projection(turn, low, high);
  const axes: [string, [number, number, number]][] = [[t('axis_t'), [high, low, low]], [t('axis_h'), [low, high, low]], [t('axis_w'), [low, low, high]]];
  const origin = place([low, low, low]);
  return (
    <>
      <div class="drawing" role="region" aria-label={t('pos_space')} tabIndex={0}>
        <svg class="fig space" viewBox={`0 0 ${kSize.width} ${kSize.height}`} role="img" aria-label={t('pos_space')}>
          {axes.map(([name, end]) => {
            const [x, y] = place(end);
            return (
              <g class="arrow line">
                <polyline points={`${origin.join(',')} ${x},${y}`} />
                <text x={x + (x < origin[0] ? -6 : 6)} y={y + 4} text-anchor={x < origin[0] ? 'end' : 'start'} class="strong">{name}</text>
              </g>
            );
          })}
          {tokens.map((token) => {
            const [x, y] = place(token.position);
            return token.visual ? <circle class="dot vision" cx={x} cy={y} r={5} /> : <rect class="dot text" x={x - 4} y={y - 4} width={8} height={8} />;
          })}
        </svg>
      </div>
      <div class="actions">
        <button type="button" onClick={() => set_turn(turn - kTurn)}>{t('pos_left')}</button>
        <button type="button" onClick={() => set_turn(turn + kTurn)}>{t('pos_right')}</button>
        <span class="small">{t('pos_legend')}</span>
      </div>
    </>
  );
}
