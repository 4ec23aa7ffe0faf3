import type { Pod, PodStatus, Volume } from '@node-agent/pod-spec';
import type { MetricOptions, Metrics } from '@node-agent/telemetry';
import { beforeEach, describe, expect, test } from 'vitest';
import { StartupLatency } from '../src/pods/startup-latency.ts';

const CREATED = '2026-01-01T00:00:00Z';
const CREATED_MS = Date.parse(CREATED);
const TOTAL = 'kubelet_pod_start_total_duration_seconds';
const INDICATOR = 'kubelet_pod_start_sli_duration_seconds';
const FIRST = 'kubelet_first_network_pod_start_sli_duration_seconds';

const podOf = (status: PodStatus, spec: Partial<Pod['spec']> = {}, annotations = {}): Pod => ({
  metadata: { name: 'a', namespace: 'default', uid: 'a', creationTimestamp: CREATED, annotations },
  spec: { containers: [], ...spec },
  status,
});
const running = (startedAt = '2026-01-01T00:00:08Z') => ({ name: 'c', state: { running: { startedAt } } }) as const;
const pending: PodStatus = { phase: 'Pending' };
const started = { phase: 'Running', startTime: CREATED, containerStatuses: [running()] } as unknown as PodStatus;

describe('StartupLatency', () => {
  let nowMs = CREATED_MS;
  let seen: string[] = [];
  let latency: StartupLatency;
  beforeEach(() => {
    nowMs = CREATED_MS + 10_000;
    seen = [];
    const metrics: Metrics = {
      counter: () => ({ inc() {} }),
      gauge: ({ name }: MetricOptions<string>) => ({ set: (_, value) => void seen.push(`${name} ${value}`) }),
      histogram: ({ name }: MetricOptions<string>) => ({ observe: (_, value) => void seen.push(`${name} ${value}`) }),
    };
    latency = new StartupLatency({ clock: { now: () => nowMs }, metrics });
  });

  test('startup latency is measured once, from pod creation until the API server shows that the pod runs', () => {
    latency.observed(podOf(pending));
    latency.observed(podOf({ ...pending, startTime: CREATED }));
    expect(seen).toEqual([]);
    latency.observed(podOf(started));
    nowMs += 60_000;
    latency.observed(podOf(started));
    expect(seen).toEqual([`${TOTAL} 10`, `${INDICATOR} 10`, `${FIRST} 10`]);
  });

  test('startup latency excludes image pulls, however they overlap, and init containers', () => {
    latency.observed(podOf(pending));
    latency.pulled('a', 3000, 4000);
    latency.pulled('a', 1000, 2000);
    latency.pulled('a', 1500, 2500);
    latency.pulled('a', 1600, 1700);
    latency.pulled('stranger', 0, 9000);
    const init = { startedAt: '2026-01-01T00:00:04Z', finishedAt: '2026-01-01T00:00:06Z' };
    const initContainerStatuses = [{ name: 'i', state: { terminated: init } }, running()];
    latency.observed(podOf({ ...started, initContainerStatuses } as unknown as PodStatus));
    expect(seen).toEqual([`${TOTAL} 10`, `${INDICATOR} 5.5`, `${FIRST} 5.5`]);
  });

  const hostPath: Volume = { name: 'v', hostPath: { path: '/x' } };
  const emptyDir: Volume = { name: 'v', emptyDir: {} };
  test.each<[string, Partial<Pod['spec']>, readonly string[]]>([
    ['a hostPath volume is only in the metric of total durations', { volumes: [hostPath] }, [`${TOTAL} 10`]],
    [
      'an emptyDir volume is in all startup latency metrics',
      { volumes: [emptyDir] },
      [`${TOTAL} 10`, `${INDICATOR} 10`, `${FIRST} 10`],
    ],
    [
      'the host network is in the total and the SLI metric, but not in that of the first network pod',
      { hostNetwork: true },
      [`${TOTAL} 10`, `${INDICATOR} 10`],
    ],
  ])('startup latency of a pod with %s', (_, spec, expected) => {
    latency.observed(podOf(pending, spec));
    latency.observed(podOf(started, spec));
    expect(seen).toEqual(expected);
  });

  const unschedulable = {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
  } as unknown as PodStatus;
  const partly = { ...started, containerStatuses: [running(), { name: 'd', state: { waiting: {} } }] };
  test.each<[string, readonly Pod[]]>([
    ['had started before the kubelet saw it', [podOf(started), podOf(started)]],
    [
      'is static',
      [
        podOf(pending, {}, { 'kubernetes.io/config.source': 'file' }),
        podOf(started, {}, { 'kubernetes.io/config.source': 'file' }),
      ],
    ],
    [
      'is a mirror pod',
      [
        podOf(pending, {}, { 'kubernetes.io/config.mirror': 'x' }),
        podOf(started, {}, { 'kubernetes.io/config.mirror': 'x' }),
      ],
    ],
    ['was unschedulable at first', [podOf(unschedulable), podOf(pending), podOf(started)]],
    ['was unschedulable later', [podOf(pending), podOf(unschedulable), podOf(started)]],
    ['went from Pending to Succeeded', [podOf(pending), podOf({ ...started, phase: 'Succeeded' })]],
    ['has a container that is not running', [podOf(pending), podOf(partly as unknown as PodStatus)]],
    [
      'has no container statuses yet',
      [podOf(pending), podOf({ phase: 'Pending', startTime: CREATED, containerStatuses: [] })],
    ],
  ])('startup latency is not measured for a pod that %s', (_, pods) => {
    for (const pod of pods) latency.observed(pod);
    expect(seen).toEqual([]);
  });

  test('K4: the startup latency tracker forgets a removed pod', () => {
    latency.observed(podOf(pending));
    latency.pulled('a', 0, 9000);
    latency.forget('a');
    latency.observed(podOf(pending));
    latency.observed(podOf(started));
    expect(seen).toContain(`${INDICATOR} 10`);
  });
});
