// The layers of a language model as a strip; a layer that is chosen shows its formulas; what the cache costs.
import { useState } from 'preact/hooks';
import { Select } from '../calculator/fields';
import type { LayerMap } from '../engine_data';
import { number_text, shape_text } from '../lang';
import { use_page } from '../page_context';

// Per head; the recurrence as the reference computes it.
const kLinear = ['S ← exp(g) · S', 'u = β · (v − Sᵀk)', 'S ← S + k uᵀ', 'o = Sᵀq'];
const kFull = ['a = softmax(q Kᵀ / √d)', 'o = sigmoid(gate) · (a V)'];

export function Layers({ maps }: { maps: LayerMap[] }) {
  const { t } = use_page();
  const [name, set_name] = useState(maps[0].name);
  const [at, set_at] = useState(3);
  const map = maps.find((entry) => entry.name === name)!;
  const layer = Math.min(at, map.kinds.length - 1);
  const full = map.kinds.filter((kind) => kind === 'full').length;
  const kind = map.kinds[layer];
  const key = (event: KeyboardEvent) => {
    const to: Record<string, number> = { ArrowRight: layer + 1, ArrowLeft: layer - 1, Home: 0, End: map.kinds.length - 1 };
    if (to[event.key] === undefined) return;
    event.preventDefault();
    const next = Math.min(map.kinds.length - 1, Math.max(0, to[event.key]));
    set_at(next);
    document.getElementById(`layer-${next}`)?.focus();
  };
  return (
    <section class="lab" aria-label={t('title_layers')}>
      <Select name="m" value={name} options={maps.map((entry) => ({ value: entry.name, text: entry.name }))} set={set_name} />
      <p id="layers-summary" aria-live="polite">{t('layers_summary', { name, n: map.kinds.length, linear: map.kinds.length - full, full })}</p>
      <div class="strip" role="group" aria-label={t('layers_strip')} onKeyDown={key}>
        {map.kinds.map((entry, i) => (
          <button type="button" id={`layer-${i}`} class={entry} aria-pressed={i === layer} tabIndex={i === layer ? 0 : -1} onClick={() => set_at(i)}
            aria-label={`${t('layers_layer', { n: i })}: ${t(entry === 'full' ? 'layers_full' : 'layers_linear')}`}>
            {i}
          </button>
        ))}
      </div>
      <p class="small"><span class="swatch linear" /> {t('layers_linear')} <span class="swatch full" /> {t('layers_full')}</p>
      <h2>{t('layers_layer', { n: layer })}: {t(kind === 'full' ? 'layers_full' : 'layers_linear')}</h2>
      <p class="prose">{t(kind === 'full' ? 'layers_full_text' : 'layers_linear_text')}</p>
      <pre class="formula-lines" tabIndex={0}><code>{(kind === 'full' ? kFull : kLinear).join('\n')}</code></pre>
      <div class="scroll" role="region" aria-label={t('layers_weights')} tabIndex={0}>
        <table id="layer-weights">
          <caption>{t('layers_weights')}</caption>
          <thead><tr><th scope="col">{t('layers_tensor')}</th><th scope="col">{t('layers_shape')}</th></tr></thead>
          <tbody>{map.weights[kind].map((tensor) => <tr><th scope="row"><code>{tensor.name}</code></th><td class="mono">{shape_text(tensor.shape)}</td></tr>)}</tbody>
        </table>
      </div>
      <h2>{t('layers_cache')}</h2>
      <p class="prose">{t('layers_cache_text', { per: map.per_token, constant: number_text(map.constant), whole: number_text(map.constant + map.per_token * 32768) })}</p>
    </section>
  );
}
