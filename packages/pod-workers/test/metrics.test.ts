import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { type Metrics, noEvents, silentLogger } from '@node-agent/telemetry';
import { expect, it } from 'vitest';
import { PodWorkers } from '../src/index.ts';
import { FreshCache, pod, runtimePod, ScriptedSyncer } from './kit.ts';

/** Keeps the last value, or all observations, of each series. */
function recordingMetrics(): { metrics: Metrics; series: Record<string, number[]> } {
  const series: Record<string, number[]> = {};
  const key = (name: string, labels: object): string => [name, ...Object.values(labels)].join(' ');
  const push = (name: string) => (labels: object, value: number) => {
    series[key(name, labels)] = [...(series[key(name, labels)] ?? []), value];
  };
  return {
    series,
    metrics: {
      counter: ({ name }) => ({ inc: (labels, by = 1) => push(name)(labels, by) }),
      gauge: ({ name }) => ({
        set: (labels, value) => {
          series[key(name, labels)] = [value];
        },
      }),
      histogram: ({ name }) => ({ observe: push(name) }),
    },
  };
}

function setUp() {
  const clock = new FakeClock();
  const syncer = new ScriptedSyncer(clock);
  const { metrics, series } = recordingMetrics();
  const podCache = new FreshCache(clock);
  const workers = new PodWorkers({
    syncer,
    podCache,
    clock,
    metrics,
    random: seededRandom(1),
    logger: silentLogger,
    recorder: noEvents,
  });
  const stop = new AbortController();
  const ended = workers.start(stop.signal);
  return { clock, syncer, series, podCache, workers, stop, ended };
}

it('counts the containers of each pod by type, and records the start time only of pods that this kubelet starts', async () => {
  const { clock, series, workers, stop, ended } = setUp();
  const seen = new Date(clock.now() - 2000).toISOString();
  workers.updatePod({ updateType: 'create', pod: pod({ uid: 'over', phase: 'Succeeded', seen }) });
  workers.updatePod({ updateType: 'update', pod: pod({ uid: 'known', seen }) });
  workers.updatePod({ updateType: 'kill', runningPod: runtimePod('orphan') });
  await clock.advance(1000);
  expect(series.kubelet_containers_per_pod_count).toEqual([1, 1]);
  expect(series.kubelet_pod_worker_start_duration_seconds).toBeUndefined();
  workers.updatePod({ updateType: 'create', pod: pod({ uid: 'new', seen }) });
  await clock.advance(0);
  expect(series.kubelet_containers_per_pod_count).toEqual([1, 1, 1]);
  expect(series.kubelet_pod_worker_start_duration_seconds).toEqual([3]);
  stop.abort();
  await ended;
});

it("the pod workers use upstream's metric names", async () => {
  const { clock, syncer, series, workers, stop, ended } = setUp();
  syncer.script = () => ({ durationMs: 500 });
  const seen = new Date(clock.now() - 2000).toISOString();
  const web = pod({ static: true, seen });
  workers.updatePod({ updateType: 'create', pod: web, startTimeMs: clock.monotonic() });
  workers.updatePod({ updateType: 'kill', runningPod: runtimePod('orphan') });
  workers.syncKnownPods([web]);
  await clock.advance(1000);
  expect(series['kubelet_working_pods sync desired true']).toEqual([1]);
  expect(series['kubelet_working_pods terminating runtime_only unknown']).toEqual([1]);
  expect(series).toMatchObject({
    'kubelet_pod_worker_duration_seconds create': [0.5],
    kubelet_pod_worker_start_duration_seconds: [2],
    kubelet_containers_per_pod_count: [1],
    kubelet_orphaned_runtime_pods_total: [1],
  });
  workers.updatePod({ updateType: 'kill', pod: web });
  workers.updatePod({ updateType: 'create', pod: web });
  await clock.advance(300);
  workers.updatePod({ updateType: 'sync', pod: web, startTimeMs: clock.monotonic() });
  await clock.advance(1000);
  workers.syncKnownPods([web]);
  expect(series['kubelet_restarted_pods_total true']).toEqual([0, 1]);
  expect(series['kubelet_pod_worker_duration_seconds terminated']).toEqual([0.7]);
  stop.abort();
  await ended;
});
