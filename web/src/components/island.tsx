// A part of a page that comes alive: its finished HTML, and a mark by which client.tsx finds it.
import type { ComponentChildren } from 'preact';
import type { IslandName } from '../islands/names';

export function Island({ name, data, children }: { name: IslandName; data?: unknown; children: ComponentChildren }) {
  return (
    <div class="island" data-island={name} data-props={data === undefined ? undefined : JSON.stringify(data)}>
      {children}
    </div>
  );
}
