// Three stations as tabs: arrows, Home and End move; the address names the one that is open. Without script all are shown.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Inline } from '../components/inline';

export interface Station {
  id: string;
  title: string;
  hint: string;
  text: string;
  formula?: string;
  code: string;
  training: string;
  more: { text: string; href: string };
}

export function Stepper({ stations, label }: { stations: Station[]; label: string }) {
  const [open, set_open] = useState(0);
  const [alive, set_alive] = useState(false);
  const tabs = useRef<(HTMLButtonElement | null)[]>([]);
  useEffect(() => {
    set_alive(true);
    const read = () => {
      const at = stations.findIndex((station) => location.hash === `#station-${station.id}`);
      if (at >= 0) set_open(at);
    };
    read();
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  const choose = (index: number) => {
    set_open(index);
    history.replaceState(null, '', `${location.search}#station-${stations[index].id}`);
    tabs.current[index]?.focus();
  };
  const key = (event: KeyboardEvent) => {
    const last = stations.length - 1;
    const to = { ArrowRight: (open + 1) % (last + 1), ArrowLeft: (open + last) % (last + 1), Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  };
  return (
    <div class={alive ? 'stepper alive' : 'stepper'}>
      <div role="tablist" aria-label={label} class="tabs" onKeyDown={key}>
        {stations.map((station, i) => (
          <button type="button" role="tab" id={`tab-${station.id}`} aria-controls={`station-${station.id}`} aria-selected={i === open}
            tabIndex={i === open ? 0 : -1} ref={(element) => { tabs.current[i] = element; }} onClick={() => choose(i)}>
            <span class="tab-number" aria-hidden="true">{i + 1}</span>
            <span><strong>{station.title}</strong><span class="tab-hint">{station.hint}</span></span>
          </button>
        ))}
      </div>
      {stations.map((station, i) => (
        <div role="tabpanel" id={`station-${station.id}`} aria-labelledby={`tab-${station.id}`} class={i === open ? 'panel open' : 'panel'} tabIndex={0}>
          <p><Inline text={station.text} /></p>
          {station.formula && <p class="formula">{station.formula}</p>}
          <pre tabIndex={0}><code>{station.code}</code></pre>
          <p class="small">{station.training}</p>
          <p><a href={station.more.href}>{station.more.text}</a></p>
        </div>
      ))}
    </div>
  );
}
