import type { Pod, PodStatus } from '@node-agent/pod-spec';
import { MetricsRegistry } from '@node-agent/telemetry';
import { expect, test } from 'vitest';
import { StartMetrics } from '../src/pods/start-metrics.ts';

const SEEN_MS = Date.UTC(2026, 0, 1);
const seen: Pod = {
  metadata: {
    name: 'a',
    namespace: 'default',
    uid: 'a',
    annotations: { 'kubernetes.io/config.seen': new Date(SEEN_MS).toISOString() },
  },
  spec: { containers: [] },
};
const unseen: Pod = { ...seen, metadata: { ...seen.metadata, annotations: {} } };

test.each<[string, Pod, PodStatus | undefined, PodStatus, number]>([
  ['changes from Pending to Running', seen, { phase: 'Pending' }, { phase: 'Running' }, 1],
  ['stays Pending', seen, { phase: 'Pending' }, { phase: 'Pending' }, 0],
  ['stays Running', seen, { phase: 'Running' }, { phase: 'Running' }, 0],
  ['already runs when the kubelet starts', seen, undefined, { phase: 'Running' }, 0],
  ['changes from Pending to Succeeded', seen, { phase: 'Pending' }, { phase: 'Succeeded' }, 0],
  ['has no config.seen annotation', unseen, { phase: 'Pending' }, { phase: 'Running' }, 0],
])('for a pod that %s, the number of recorded start durations is $4', (_, pod, before, after, count) => {
  const metrics = new MetricsRegistry();
  new StartMetrics(metrics).observe(pod, before, after, SEEN_MS + 2500);
  const text = metrics.text();
  expect(text).toContain(`\nkubelet_pod_start_duration_seconds_count ${count}\n`);
  expect(text).toContain('kubelet_pod_start_duration_seconds_bucket{le="2"} 0\n');
  expect(text).toContain(`kubelet_pod_start_duration_seconds_bucket{le="3"} ${count}\n`);
  expect(text).toContain(`kubelet_pod_start_duration_seconds_sum ${count * 2.5}\n`);
});
