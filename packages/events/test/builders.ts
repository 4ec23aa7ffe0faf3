import type { Metrics } from '@node-agent/telemetry';
import { type CoreEvent, newEvent, type Occurrence } from '../src/event.ts';

export const pod = { kind: 'Pod', namespace: 'default', name: 'web', uid: 'u1' };

let names = 0;

export function makeEvent(overrides: Partial<Occurrence> = {}): CoreEvent {
  return newEvent({
    object: pod,
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container',
    source: { component: 'kubelet', host: 'node-1' },
    atMs: Date.UTC(2026, 0, 1),
    name: `web.${(++names).toString(16)}`,
    ...overrides,
  });
}

/** Metrics whose counters a test can read. The key of a counter is its name followed by its label values. */
export function countingMetrics(): { readonly metrics: Metrics; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const metrics: Metrics = {
    counter: ({ name }) => ({
      inc(labels, by = 1) {
        const key = [name, ...Object.values<string>(labels)].join(' ');
        counts.set(key, (counts.get(key) ?? 0) + by);
      },
    }),
    gauge: () => ({ set() {} }),
    histogram: () => ({ observe() {} }),
  };
  return { metrics, counts };
}
