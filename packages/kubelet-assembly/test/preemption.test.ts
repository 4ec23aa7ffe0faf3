import { describe, expect, test } from 'vitest';
import { ids, makePod, makeWorld, startKubelet } from './node.ts';

/** Returns a pod that requests CPUs. The node has two CPUs. */
const withCpu = (name: string, cpu: string, priority: number, more: object = {}) => {
  const pod = makePod(name, {
    priority,
    containers: [
      {
        name: 'main',
        image: 'busybox',
        imagePullPolicy: 'Never',
        command: ['sleep', 'infinity'],
        resources: { requests: { cpu } },
      },
    ],
    ...more,
  });
  // The pod comes from the API server, because static pods are always critical.
  const annotations = { 'kubernetes.io/config.source': 'api' };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
};
const CRITICAL = 2_000_000_000;
const deaf = { terminationGracePeriodSeconds: 5 };

describe('critical pod that does not fit', () => {
  test('N1: a critical pod starts after the preempted pod has terminated with its reason, while other pods continue', async () => {
    const world = await makeWorld();
    const { kubelet, setPods, status, stop } = startKubelet(world);
    const [small, large, other] = [
      withCpu('small', '700m', 0, deaf),
      withCpu('large', '900m', 0, deaf),
      makePod('other'),
    ];
    setPods([small, large]);
    await world.clock.advance(5000);
    expect(await ids(world.cri)).toHaveLength(2);

    const critical = withCpu('critical', '1', CRITICAL);
    setPods([small, large, critical, other]);
    await world.clock.advance(1000);
    const phase = (name: string) => status.getPodStatus(`uid-${name}`)?.phase;
    expect(phase('small')).toBe('Failed');
    expect(phase('critical')).toBeUndefined();
    expect(kubelet.explain('default', 'critical')).toBeDefined();
    expect(phase('other')).toBeDefined();

    await world.clock.advance(60_000);
    expect(phase('critical')).toBe('Running');
    expect(phase('large')).toBe('Running');
    expect(status.getPodStatus('uid-small')).toMatchObject({
      phase: 'Failed',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
      ]),
    });
    const reasons = world.events
      .eventsOf({ kind: 'Pod', namespace: 'default', name: 'small', uid: 'uid-small' })
      .map(({ reason }) => reason);
    expect(reasons).toContain('Preempting');
    await stop();
  });

  test('N1: a restarted kubelet admits all running pods again, and preempts none of them to admit a critical one that was running', async () => {
    const world = await makeWorld();
    const pods = [withCpu('plain', '900m', 0), withCpu('critical', '1', CRITICAL)];
    const first = startKubelet(world);
    first.setPods(pods);
    await world.clock.advance(5000);
    const before = await ids(world.cri);
    expect(before).toHaveLength(2);
    await first.stop();
    const second = startKubelet(world);
    // The newer critical pod now comes first in the list of the pod source.
    second.setPods([...pods].reverse());
    await world.clock.advance(5000);
    expect(await ids(world.cri)).toEqual(before);
    expect(second.status.getPodStatus('uid-plain')?.phase).toBe('Running');
    await second.stop();
  });

  test('N1: a critical pod is resized after the preempted pod has terminated', async () => {
    const world = await makeWorld();
    const { setPods, kubelet, status, stop } = startKubelet(world);
    const [plain, critical] = [withCpu('plain', '900m', 0), withCpu('critical', '1', CRITICAL)];
    setPods([plain, critical]);
    await world.clock.advance(5000);
    const larger = withCpu('critical', '1500m', CRITICAL);
    setPods([plain, { ...larger, metadata: { ...larger.metadata, generation: 2 } }]);
    await world.clock.advance(30_000);
    expect(status.getPodStatus('uid-plain')).toMatchObject({ phase: 'Failed', reason: 'Preempting' });
    const grown = kubelet.getPodByName('default', 'critical')?.status;
    expect(grown?.containerStatuses?.[0]).toMatchObject({ restartCount: 0, allocatedResources: { cpu: '1500m' } });
    expect(grown?.containerStatuses?.[0]?.resources?.requests).toEqual({ cpu: '1500m' });
    expect(grown?.conditions?.filter(({ type }) => type.startsWith('PodResize'))).toEqual([]);
    await stop();
  });

  test('a critical pod is rejected if only critical pods could be preempted for it', async () => {
    const world = await makeWorld();
    const { setPods, status, stop } = startKubelet(world);
    setPods([withCpu('first', '1500m', CRITICAL)]);
    await world.clock.advance(5000);
    setPods([withCpu('first', '1500m', CRITICAL), withCpu('second', '1', CRITICAL)]);
    await world.clock.advance(5000);
    expect(status.getPodStatus('uid-second')).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
    expect(status.getPodStatus('uid-first')?.phase).toBe('Running');
    await stop();
  });
});
