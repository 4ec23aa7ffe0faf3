import {
  type Container,
  type Pod,
  type PodCondition,
  podReference,
  type ResourceRequirements,
} from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { MemoryCgroups } from './memory-cgroups.ts';
import { ids, makePod, makeWorld, type StartedKubelet, startKubelet, type World } from './node.ts';

const GROUP = '/kubepods/poduid-web';

/** Returns requests that equal the limits, so that the pod is Guaranteed. */
function exactly(cpu: string, memory: string): ResourceRequirements {
  return { requests: { cpu, memory }, limits: { cpu, memory } };
}

function sized(name: string, resources: ResourceRequirements, more: Partial<Container> = {}): Pod {
  const pod = makePod(name);
  const containers = pod.spec.containers.map((container) => ({ ...container, resources, ...more }));
  return { ...pod, metadata: { ...pod.metadata, generation: 1 }, spec: { ...pod.spec, containers } };
}

/** Returns the same pod after a patch of its `resize` subresource. */
function resized(pod: Pod, resources: ResourceRequirements): Pod {
  const generation = (pod.metadata.generation ?? 1) + 1;
  const containers = pod.spec.containers.map((container) => ({ ...container, resources }));
  return { ...pod, metadata: { ...pod.metadata, generation }, spec: { ...pod.spec, containers } };
}

interface Node {
  readonly world: World;
  readonly machine: MemoryCgroups;
  readonly node: StartedKubelet;
}

async function makeNode(world?: World, machine = new MemoryCgroups()): Promise<Node> {
  const at = world ?? (await makeWorld());
  return { world: at, machine, node: startKubelet(at, [], undefined, [], { openCgroups: async () => machine }) };
}

const statusOf = (node: StartedKubelet, name = 'web') => node.kubelet.getPodByName('default', name)?.status;

function conditionOf(node: StartedKubelet, type: string, name = 'web'): PodCondition | undefined {
  return statusOf(node, name)?.conditions?.find((condition) => condition.type === type);
}

async function enforced({ cri }: World, name = 'main') {
  const { containers } = await cri.listContainers({ filter: { state: { state: 1 } } });
  const id = containers.find(({ metadata }) => metadata?.name === name)?.id ?? '';
  return (await cri.containerStatus({ containerId: id })).status?.resources?.linux;
}

const eventsOf = ({ events }: World): string[] =>
  events.eventsOf(podReference(makePod('web'))).flatMap(({ reason }) => (reason.startsWith('Resize') ? [reason] : []));

describe('resize of a running pod', () => {
  test('an increase of resources changes the cgroup first, then the container and the status, without a restart', async () => {
    const { world, machine, node } = await makeNode();
    const pod = sized('web', exactly('500m', '100Mi'));
    node.setPods([pod]);
    await world.clock.advance(5000);
    const before = await ids(world.cri);
    expect(machine.groups.get(GROUP)).toMatchObject({ memoryBytes: 100 * 2 ** 20, cpuQuotaUs: 50_000 });
    machine.changes.length = 0;

    node.setPods([resized(pod, exactly('1', '200Mi'))]);
    await world.clock.advance(3000);
    expect(await ids(world.cri)).toEqual(before);
    expect(await enforced(world)).toMatchObject({
      memoryLimitInBytes: 200 * 2 ** 20,
      cpuQuota: 100_000,
      cpuShares: 1024,
    });
    expect(machine.changes).toEqual([
      [GROUP, { memoryBytes: 200 * 2 ** 20 }],
      [GROUP, { cpuQuotaUs: 100_000, cpuPeriodUs: 100_000 }],
      [GROUP, { cpuShares: 1024 }],
    ]);
    const [shown] = statusOf(node)?.containerStatuses ?? [];
    expect(shown?.resources).toEqual(exactly('1', '200Mi'));
    expect(shown?.allocatedResources).toEqual({ cpu: '1', memory: '200Mi' });
    expect(statusOf(node)?.allocatedResources).toEqual({ cpu: '1', memory: '200Mi' });
    expect([conditionOf(node, 'PodResizePending'), conditionOf(node, 'PodResizeInProgress')]).toEqual([
      undefined,
      undefined,
    ]);
    expect(eventsOf(world)).toEqual(['ResizeStarted', 'ResizeCompleted']);
    await node.stop();
  });

  test('a resize passes the cgroup values to the sandbox, with separate overhead and only complete limits', async () => {
    const { world, node } = await makeNode();
    const told: unknown[] = [];
    const update = world.cri.updatePodSandboxResources.bind(world.cri);
    Object.assign(world.cri, {
      updatePodSandboxResources: async (...args: Parameters<typeof update>) => {
        const [{ resources, overhead }] = args;
        told.push({ resources, overhead });
        return await update(...args);
      },
    });
    const make = (name: string, resources: ResourceRequirements, more: readonly Container[]): Pod => {
      const pod = sized(name, resources);
      const containers = [...pod.spec.containers, ...more];
      return { ...pod, spec: { ...pod.spec, containers, overhead: { cpu: '250m', memory: '10Mi' } } };
    };
    const free = { name: 'free', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
    const whole = make('whole', exactly('250m', '100Mi'), []);
    const part = make('part', exactly('250m', '100Mi'), [free]);
    node.setPods([whole, part]);
    await world.clock.advance(5000);
    const grown = (pod: Pod): Pod => {
      const [main, ...others] = pod.spec.containers;
      const containers = [{ ...main, resources: exactly('500m', '200Mi') } as Container, ...others];
      return { ...pod, metadata: { ...pod.metadata, generation: 2 }, spec: { ...pod.spec, containers } };
    };
    node.setPods([grown(whole), part]);
    await world.clock.advance(3000);
    const oom = { unified: { 'memory.oom.group': '1' } };
    const overhead = { cpuShares: 256, cpuQuota: 25_000, cpuPeriod: 100_000, memoryLimitInBytes: 10 * 2 ** 20, ...oom };
    const resources = { cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitInBytes: 200 * 2 ** 20 };
    expect(told).toEqual([{ resources, overhead }]);

    node.setPods([grown(whole), grown(part)]);
    await world.clock.advance(3000);
    expect(told.slice(1)).toEqual([{ resources: { ...resources, cpuQuota: -1, memoryLimitInBytes: -1 }, overhead }]);
    await node.stop();
  });

  test('a decrease of resources changes the container first, then its cgroup', async () => {
    const { world, machine, node } = await makeNode();
    const pod = sized('web', exactly('1', '200Mi'));
    node.setPods([pod]);
    await world.clock.advance(5000);
    machine.changes.length = 0;
    const update = world.cri.updateContainerResources.bind(world.cri);
    Object.assign(world.cri, {
      updateContainerResources: async (...args: Parameters<typeof update>) => {
        machine.changes.push(['container', {}]);
        return await update(...args);
      },
    });
    node.setPods([resized(pod, exactly('500m', '100Mi'))]);
    await world.clock.advance(3000);
    expect(machine.changes).toEqual([
      ['container', {}],
      [GROUP, { memoryBytes: 100 * 2 ** 20 }],
      ['container', {}],
      [GROUP, { cpuShares: 512 }],
      [GROUP, { cpuQuotaUs: 50_000, cpuPeriodUs: 100_000 }],
    ]);
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 100 * 2 ** 20, cpuQuota: 50_000 });
    await node.stop();
  });

  test('a resize with resizePolicy RestartContainer restarts the container with the new resources', async () => {
    const { world, machine, node } = await makeNode();
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const pod = sized('web', exactly('500m', '100Mi'), { resizePolicy });
    node.setPods([pod]);
    await world.clock.advance(5000);
    node.setPods([resized(pod, exactly('500m', '200Mi'))]);
    await world.clock.advance(5000);
    expect(statusOf(node)?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      resources: exactly('500m', '200Mi'),
    });
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 200 * 2 ** 20 });
    expect(machine.groups.get(GROUP)).toMatchObject({ memoryBytes: 200 * 2 ** 20 });
    expect(eventsOf(world)).toEqual(['ResizeStarted', 'ResizeCompleted']);
    await node.stop();
  });

  test('N1: a resize that does not fit waits with the reason, and is performed when another pod is gone', async () => {
    const { world, node } = await makeNode();
    const web = sized('web', exactly('500m', '100Mi'));
    const other = sized('other', exactly('1', '100Mi'));
    node.setPods([web, other]);
    await world.clock.advance(5000);
    const larger = resized(web, exactly('1500m', '100Mi'));
    node.setPods([larger, other]);
    await world.clock.advance(3000);
    expect(conditionOf(node, 'PodResizePending')).toMatchObject({
      status: 'True',
      reason: 'Deferred',
      // Preemption finds no pod, because static pods are critical and no pod has a lower priority.
      message:
        'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 500), ]',
      observedGeneration: 2,
    });
    expect(statusOf(node)?.containerStatuses?.[0]?.resources).toEqual(exactly('500m', '100Mi'));
    expect(node.kubelet.explain('default', 'web')?.waitingFor).toContainEqual(
      expect.objectContaining({
        what: expect.stringMatching(/^resize: Deferred: .*no set of running pods found to reclaim resources/),
      }),
    );
    // A new pod is admitted against the allocations, not against the requested resources.
    node.setPods([larger, other, sized('third', exactly('500m', '100Mi'))]);
    await world.clock.advance(5000);
    expect(statusOf(node, 'third')?.phase).toBe('Running');

    node.setPods([larger]);
    await world.clock.advance(5000);
    expect(conditionOf(node, 'PodResizePending')).toBeUndefined();
    expect(statusOf(node)?.containerStatuses?.[0]?.resources).toEqual(exactly('1500m', '100Mi'));
    expect(eventsOf(world)).toEqual(['ResizeDeferred', 'ResizeStarted', 'ResizeCompleted']);
    await node.stop();
  });

  test('a resize is performed in the same turn in which another pod shrinks; a resize that was reverted is no longer pending', async () => {
    const { world, node } = await makeNode();
    const web = sized('web', exactly('1', '100Mi'));
    const other = sized('other', exactly('1', '100Mi'));
    node.setPods([web, other]);
    await world.clock.advance(5000);
    const larger = resized(web, exactly('1500m', '100Mi'));
    node.setPods([larger, other]);
    await world.clock.advance(3000);
    expect(conditionOf(node, 'PodResizePending')?.reason).toBe('Deferred');
    const back = { ...resized(larger, exactly('1', '100Mi')) };
    node.setPods([back, other]);
    await world.clock.advance(3000);
    expect(conditionOf(node, 'PodResizePending')).toBeUndefined();
    const again = resized(back, exactly('1500m', '100Mi'));
    node.setPods([again, other]);
    await world.clock.advance(3000);
    node.setPods([again, resized(other, exactly('500m', '100Mi'))]);
    await world.clock.advance(3000);
    expect(statusOf(node)?.containerStatuses?.[0]?.resources).toEqual(exactly('1500m', '100Mi'));
    await node.stop();
  });

  test('a memory limit below the usage is rejected with both values, and the resize continues when the usage has fallen', async () => {
    const { world, machine, node } = await makeNode();
    const pod = sized('web', exactly('500m', '100Mi'));
    node.setPods([pod]);
    await world.clock.advance(5000);
    let used = 80 * 2 ** 20;
    const stats = world.cri.podSandboxStats.bind(world.cri);
    Object.assign(world.cri, {
      podSandboxStats: async (...args: Parameters<typeof stats>) => {
        const { stats: figures } = await stats(...args);
        const memory = { ...figures?.linux?.memory, usageBytes: { value: used } };
        return { stats: { ...figures, linux: { ...figures?.linux, memory, containers: [] } } };
      },
    });
    node.setPods([resized(pod, exactly('500m', '50Mi'))]);
    await world.clock.advance(3000);
    expect(conditionOf(node, 'PodResizeInProgress')).toMatchObject({
      reason: 'Error',
      message: `cannot decrease memory limits: attempting to set pod memory limit (${50 * 2 ** 20}) below current usage (${used})`,
    });
    expect(machine.groups.get(GROUP)).toMatchObject({ memoryBytes: 100 * 2 ** 20 });
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 100 * 2 ** 20 });
    expect(node.kubelet.explain('default', 'web')?.waitingFor).toContainEqual(
      expect.objectContaining({ what: expect.stringMatching(/^resize: Error: cannot decrease/) }),
    );
    used = 10 * 2 ** 20;
    await world.clock.advance(120_000);
    expect(conditionOf(node, 'PodResizeInProgress')).toBeUndefined();
    expect(machine.groups.get(GROUP)).toMatchObject({ memoryBytes: 50 * 2 ** 20 });
    expect(eventsOf(world)).toEqual(['ResizeStarted', 'ResizeError', 'ResizeCompleted']);
    await node.stop();
  });

  test('a stopped container restarts with its allocation', async () => {
    const { world, machine, node } = await makeNode();
    const pod = sized('web', exactly('500m', '100Mi'));
    node.setPods([pod]);
    await world.clock.advance(5000);
    const [id = ''] = await ids(world.cri);
    world.cri.killContainer(id, { exitCode: 1 });
    node.setPods([resized(pod, exactly('1', '200Mi'))]);
    await world.clock.advance(30_000);
    expect(statusOf(node)?.containerStatuses?.[0]?.restartCount).toBe(1);
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 200 * 2 ** 20 });
    expect(machine.groups.get(GROUP)).toMatchObject({ memoryBytes: 200 * 2 ** 20, cpuQuotaUs: 100_000 });
    expect(conditionOf(node, 'PodResizeInProgress')).toBeUndefined();
    await node.stop();
  });

  test('containers without cgroups are resized if the runtime chooses the cgroups', async () => {
    const world = await makeWorld();
    const node = startKubelet(world);
    const pod = sized('web', exactly('500m', '100Mi'));
    node.setPods([pod]);
    await world.clock.advance(5000);
    node.setPods([resized(pod, exactly('1', '200Mi'))]);
    await world.clock.advance(3000);
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 200 * 2 ** 20, cpuQuota: 100_000 });
    expect(conditionOf(node, 'PodResizeInProgress')).toBeUndefined();
    await node.stop();
  });

  test('resizes pod-level resources of a running pod', async () => {
    const { world, machine, node } = await makeNode();
    const pod = makePod('web', { resources: exactly('500m', '100Mi') });
    node.setPods([pod]);
    await world.clock.advance(5000);
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 100 * 2 ** 20 });
    node.setPods([{ ...pod, spec: { ...pod.spec, resources: exactly('1', '200Mi') } }]);
    await world.clock.advance(3000);
    expect(machine.groups.get(GROUP)).toMatchObject({ memoryBytes: 200 * 2 ** 20, cpuQuotaUs: 100_000 });
    // The container has no limit of its own, so the pod's memory limit applies to the container.
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 200 * 2 ** 20 });
    expect(statusOf(node)?.resources).toEqual(exactly('1', '200Mi'));
    expect(eventsOf(world)).toEqual(['ResizeStarted', 'ResizeCompleted']);
    await node.stop();
  });

  test('K1: after a kill, a resize is completed by the next kubelet with the earlier allocation', async () => {
    const world = await makeWorld();
    const first = await makeNode(world);
    const pod = sized('web', exactly('500m', '100Mi'));
    const other = sized('other', exactly('1', '100Mi'));
    first.node.setPods([pod, other]);
    await world.clock.advance(5000);
    const before = await ids(world.cri);
    const large = resized(pod, exactly('1', '200Mi'));
    // The memory of the cgroup is raised, but the change of its CPU quota fails, as if the kubelet were killed in
    // between.
    first.machine.refuse = (_path, config) => (config.cpuQuotaUs ? new Error('killed') : undefined);
    first.node.setPods([large, other]);
    await world.clock.advance(2000);
    await first.node.stop();
    expect(conditionOf(first.node, 'PodResizeInProgress')).toMatchObject({ reason: 'Error', message: 'killed' });
    first.machine.refuse = () => undefined;

    // While the kubelet is down, an even larger resize is requested, which does not fit.
    const second = await makeNode(world, first.machine);
    second.node.setPods([resized(large, exactly('1500m', '200Mi')), other]);
    await world.clock.advance(10_000);
    expect(await ids(world.cri)).toEqual(before);
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 200 * 2 ** 20, cpuQuota: 100_000 });
    expect(second.machine.groups.get(GROUP)).toMatchObject({ memoryBytes: 200 * 2 ** 20, cpuQuotaUs: 100_000 });
    expect(conditionOf(second.node, 'PodResizePending')).toMatchObject({ reason: 'Deferred' });
    expect(conditionOf(second.node, 'PodResizeInProgress')).toBeUndefined();
    await second.node.stop();
  });

  test('an unreadable allocation state file keeps the kubelet from starting, and the error names the file', async () => {
    const world = await makeWorld();
    await world.fs.mkdir('/root');
    await world.fs.writeFile('/root/allocated_pods_state', '{"data":"{}","checksum":1}');
    const { node } = await makeNode(world);
    await world.clock.advance(1000);
    await expect(node.stop()).rejects.toThrow(
      /could not restore state from checkpoint: .* please drain this node and delete .*"\/root\/allocated_pods_state" before/,
    );
  });

  test('a thousand resizes in a row end with the last one and leave no state behind', async () => {
    const { world, machine, node } = await makeNode();
    let pod = sized('web', exactly('500m', '100Mi'));
    node.setPods([pod]);
    await world.clock.advance(5000);
    const before = await ids(world.cri);
    for (let turn = 0; turn < 1000; turn++) {
      pod = resized(pod, exactly(`${100 + turn}m`, `${100 + (turn % 7)}Mi`));
      node.setPods([pod]);
      if (turn % 5 === 0) await world.clock.advance(30);
    }
    await world.clock.advance(5000);
    expect(await ids(world.cri)).toEqual(before);
    expect(machine.groups.get(GROUP)).toMatchObject({ memoryBytes: 105 * 2 ** 20, cpuQuotaUs: 109_900 });
    expect(await enforced(world)).toMatchObject({ memoryLimitInBytes: 105 * 2 ** 20, cpuQuota: 109_900 });
    expect(conditionOf(node, 'PodResizeInProgress')).toBeUndefined();
    await node.stop();
  }, 60_000);
});
