import type { Pod, PodCondition, RuntimePodStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { stillRunning, toApiPod, toRunningPod, withDataFromBeforeStopping } from '../src/pods/running-pod.ts';
import { withSandboxReady } from '../src/pods/sandbox-ready.ts';
import { oldestFirst } from '../src/sync/oldest-first.ts';
import { emptyStatus, makePod } from './fakes.ts';

type Container = RuntimePodStatus['containers'][number];
const container = (id: string, state: Container['state'], createdAtMs = 5): Container => ({
  ...{ id, name: `name-${id}`, state, createdAtMs, startedAtMs: 0, finishedAtMs: 0, exitCode: 0, image: `image-${id}` },
  ...{ imageId: '', hash: '', restartCount: 0, reason: '', message: '', sandboxId: 's' },
});
const sandbox = (createdAtMs: number): RuntimePodStatus['sandboxes'][number] => ({
  ...{ id: 's', state: 'ready', attempt: 0, createdAtMs, ips: [], hostNetwork: false, runtimeHandler: '' },
});

describe('conversion of a pod that runs or was stopped', () => {
  const all = (['created', 'running', 'exited', 'unknown'] as const).map((state) => container(state, state));

  it('a running pod includes created, running and unknown containers (C5), and has the creation time of its oldest sandbox or container', () => {
    const status = emptyStatus(makePod('a'), { sandboxes: [sandbox(3)], containers: all });
    expect(toRunningPod(makePod('a'), status)).toEqual({
      ...{ uid: 'uid-a', name: 'a', namespace: 'default', createdAtMs: 3 },
      ...{ containers: [all[0], all[1], all[3]], sandboxes: [sandbox(3)] },
    });
    const older = emptyStatus(makePod('a'), { sandboxes: [sandbox(30)], containers: all });
    expect(toRunningPod(makePod('a'), older).createdAtMs).toBe(5);
    expect(toRunningPod(makePod('a'), emptyStatus(makePod('a'))).createdAtMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('a running pod is converted to a pod object that events can refer to', () => {
    const status = emptyStatus(makePod('a'), { containers: all });
    expect(toApiPod(toRunningPod(makePod('a'), status))).toEqual({
      metadata: { uid: 'uid-a', name: 'a', namespace: 'default' },
      spec: {
        containers: [
          { name: 'name-created', image: 'image-created' },
          { name: 'name-running', image: 'image-running' },
          { name: 'name-unknown', image: 'image-unknown' },
        ],
      },
    });
  });

  it('after a kill, only containers in state running count as still running', () => {
    expect(stillRunning(emptyStatus(makePod('a'), { containers: all }))).toEqual([all[1]]);
  });

  it.each([
    [[], ['10.0.0.1'], ['10.0.0.1']],
    [['10.0.0.2'], ['10.0.0.1'], ['10.0.0.2']],
    [[], [], []],
  ])('a pod that has the IPs %j after its stop, and had %j before, is reported with %j', (ips, before, expected) => {
    const stopped = emptyStatus(makePod('a'), { ips, containers: all });
    const told = withDataFromBeforeStopping(stopped, emptyStatus(makePod('a'), { ips: before }));
    expect(told).toEqual({ ...stopped, ips: expected });
  });
});

describe('withSandboxReady', () => {
  const other: PodCondition = { type: 'Ready', status: 'False' };
  const old: PodCondition = { type: 'PodReadyToStartContainers', status: 'False' };
  const ready: PodCondition = { type: 'PodReadyToStartContainers', status: 'True' };

  it.each<[string, readonly PodCondition[] | undefined, readonly PodCondition[]]>([
    ['in a status without conditions', undefined, [ready]],
    ['before other conditions', [other], [ready, other]],
    ['in place of an old value', [other, old], [other, ready]],
  ])('withSandboxReady sets the condition PodReadyToStartContainers %s', (_what, before, conditions) => {
    const status = { phase: 'Pending', ...(before && { conditions: [...before] }) };
    expect(withSandboxReady(makePod('a'), status)).toEqual({ phase: 'Pending', conditions });
  });

  it('withSandboxReady sets the observed generation of the condition', () => {
    const pod = makePod('a', { metadata: { generation: 3 } });
    expect(withSandboxReady(pod, {}).conditions).toEqual([{ ...ready, observedGeneration: 3 }]);
  });
});

test('oldestFirst sorts by creation time, keeps equal times in order, and puts missing times first', () => {
  const made = (name: string, second?: number): Pod =>
    makePod(name, {
      metadata: { creationTimestamp: second === undefined ? undefined : `2026-01-01T00:00:0${second}Z` },
    });
  const pods = [made('d', 3), made('b', 1), made('c', 1), made('e', 4), made('a')];
  expect(oldestFirst(pods).map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('oldestFirst returns what a stable sort by creation time returns', () => {
  const seconds = fc.array(fc.option(fc.nat({ max: 9 })), { maxLength: 30 });
  fc.assert(
    fc.property(seconds, (all) => {
      const pods = all.map((second, index) =>
        makePod(`p${index}`, {
          metadata: { creationTimestamp: second === null ? undefined : `2026-01-01T00:00:0${second}Z` },
        }),
      );
      const timeOf = (pod: Pod): string => pod.metadata.creationTimestamp ?? '';
      const sorted = pods.toSorted((a, b) => (timeOf(a) < timeOf(b) ? -1 : timeOf(a) > timeOf(b) ? 1 : 0));
      expect(oldestFirst(pods)).toEqual(sorted);
    }),
  );
});
