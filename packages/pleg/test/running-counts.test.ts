import { MetricsRegistry } from '@node-agent/telemetry';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPlegMetrics, RunningCounts } from '../src/metrics.ts';
import type { PodSnapshot } from '../src/snapshot.ts';

const containerStates = fc.constantFrom('created', 'running', 'exited', 'unknown');
const snapshot: fc.Arbitrary<PodSnapshot> = fc.record({
  containers: fc.array(fc.tuple(fc.string(), containerStates)).map((entries) => new Map(entries)),
  sandboxes: fc.array(fc.tuple(fc.string(), fc.constantFrom('ready', 'notReady'))).map((entries) => new Map(entries)),
});
const uid = fc.constantFrom('a', 'b', 'c');
const change = fc.oneof(
  fc.tuple(fc.constant('update'), uid, fc.option(snapshot, { nil: undefined })),
  fc.tuple(fc.constant('set'), fc.array(fc.tuple(uid, snapshot))),
);

function shown(metrics: MetricsRegistry): string {
  const lines = metrics.text().split('\n');
  return lines.filter((line) => /^kubelet_running_(pods|containers)\b/.test(line)).join('\n');
}

function gauges(): { readonly metrics: MetricsRegistry; readonly counts: RunningCounts } {
  const metrics = new MetricsRegistry();
  return { metrics, counts: new RunningCounts(createPlegMetrics(metrics)) };
}

test('K5: the gauges of running pods are updated pod by pod, and always have the values of a count over all pods', () => {
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const updated = gauges();
      let pods = new Map<string, PodSnapshot>();
      updated.counts.set([]);
      for (const [kind, first, second] of changes) {
        if (kind === 'set') {
          pods = new Map(first as [string, PodSnapshot][]);
          updated.counts.set(pods);
          continue;
        }
        const changed = second as PodSnapshot | undefined;
        if (changed === undefined) pods.delete(first as string);
        else pods.set(first as string, changed);
        updated.counts.update(first as string, changed);
      }
      const counted = gauges();
      counted.counts.set(pods);
      expect(shown(updated.metrics)).toBe(shown(counted.metrics));
    }),
  );
});
