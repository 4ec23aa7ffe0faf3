import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type CgroupManager, cgroupfsPath, openCgroups, readHierarchy } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';
import type { Pod, PodCondition } from '@node-agent/pod-spec';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import type { TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const MIB = 2 ** 20;
const hierarchy = await readHierarchy(nodeFileSystem);
/** Parent of all cgroups of this test, with a unique name. */
const root = [`na-e2e-${randomUUID()}`];
const { signal } = new AbortController();

/** Returns equal requests and limits, so that the pod is Guaranteed. */
const exactly = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });

const condition = (pod: Pod | undefined, type: string): PodCondition | undefined =>
  pod?.status?.conditions?.find((one) => one.type === type);
const settled = (pod: Pod): boolean =>
  condition(pod, 'PodResizePending') === undefined && condition(pod, 'PodResizeInProgress') === undefined;
const shows =
  (cpu: string, memory: string) =>
  (pod: Pod): boolean => {
    const [status] = pod.status?.containerStatuses ?? [];
    const { limits = {} } = status?.resources ?? {};
    return settled(pod) && limits.cpu === cpu && limits.memory === memory;
  };

/** Resizes a pod through the `resize` subresource, as kubectl does. */
async function resize(it: TestCluster, name: string, spec: object): Promise<void> {
  const patch = JSON.stringify({ spec });
  await it.plane.kubectl(['patch', 'pod', name, '--subresource=resize', '--type=strategic', `--patch=${patch}`]);
}
const container = (resources: object, name = 'c') => ({ containers: [{ name, resources }] });

const groupOf = (pod: Pod, inner: readonly string[] = []): readonly string[] => [
  ...root,
  'kubepods',
  `pod${pod.metadata.uid}`,
  ...inner,
];
async function value(name: readonly string[], controller: string, v1: string, v2: string): Promise<string> {
  const mount = hierarchy.version === 1 ? hierarchy.mounts.get(controller) : hierarchy.mount;
  const file = `${controller}.${hierarchy.version === 1 ? v1 : v2}`;
  return (await readFile(`${mount}${cgroupfsPath(name)}/${file}`, 'utf8')).trim();
}
const memoryOf = async (name: readonly string[]): Promise<number> =>
  Number(await value(name, 'memory', 'limit_in_bytes', 'max'));
const quotaOf = async (name: readonly string[]): Promise<number> =>
  Number.parseInt(await value(name, 'cpu', 'cfs_quota_us', 'max'), 10);

let cgroups: CgroupManager;
beforeAll(async () => {
  cgroups = await openCgroups({ fs: nodeFileSystem, kill: process.kill.bind(process) });
  await cgroups.create(root, {});
});
afterAll(async () => cgroups.destroy(root, signal));

const options = {
  subnet: '10.199.81.0/24',
  configuration: { cgroupsPerQOS: true, enforceNodeAllocatable: ['pods'], cgroupRoot: cgroupfsPath(root) },
};

await withCluster('resizes in a cluster of one node', options, (cluster) => {
  test('resizes a container up and down in place: cgroups and status change, the container stays', async () => {
    const it = cluster();
    await it.createPod('web', { containers: [script('c', FOREVER, { resources: exactly('100m', '64Mi') })] });
    const before = await it.readyPod('web');
    const id = containerId(before);
    const held = async () => [
      await memoryOf(groupOf(before)),
      await quotaOf(groupOf(before)),
      await memoryOf(groupOf(before, [id])),
      await quotaOf(groupOf(before, [id])),
    ];
    expect(await held()).toEqual([64 * MIB, 10_000, 64 * MIB, 10_000]);
    for (const [cpu, memory, quota, mib] of [
      ['200m', '96Mi', 20_000, 96],
      ['150m', '48Mi', 15_000, 48],
    ] as const) {
      const tookMs = await it.timed(async () => {
        await resize(it, 'web', container(exactly(cpu, memory)));
        await it.podUntil('web', shows(cpu, memory));
      });
      expect(await held()).toEqual([mib * MIB, quota, mib * MIB, quota]);
      const pod = await it.pod('web');
      expect(containerId(pod as Pod)).toBe(id);
      expect(pod?.status?.containerStatuses?.[0]?.allocatedResources).toEqual({ cpu, memory });
      expect(pod?.status?.allocatedResources).toEqual({ cpu, memory });
      expect(pod?.status?.resources).toEqual(exactly(cpu, memory));
      expect(pod?.status?.observedGeneration).toBe(pod?.metadata.generation);
      console.log(`resized to ${cpu}, ${memory} and shown so after ${tookMs} ms`);
    }
    await it.eventUntil('web', 'ResizeStarted', /^Pod resize started: {"containers":\[{"name":"c","resources":/);
    await it.eventUntil('web', 'ResizeCompleted', /^Pod resize completed: {.*"generation":3}$/);
    await it.deletePod('web');
  });

  test('resizePolicy RestartContainer restarts the container once, with the new resources', async () => {
    const it = cluster();
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const spec = script('c', FOREVER, { resources: exactly('100m', '64Mi'), resizePolicy });
    await it.createPod('again', { containers: [spec] });
    const before = await it.readyPod('again');
    await resize(it, 'again', container(exactly('100m', '96Mi')));
    const after = await it.podUntil('again', (pod) => shows('100m', '96Mi')(pod) && pod.status?.phase === 'Running');
    expect(containerId(after)).not.toBe(containerId(before));
    expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(1);
    expect(await memoryOf(groupOf(after))).toBe(96 * MIB);
    expect(await memoryOf(groupOf(after, [containerId(after)]))).toBe(96 * MIB);
    await it.deletePod('again');
  });

  test('N1: a resize that does not fit is deferred with a reason, and applied after another pod was deleted', async () => {
    const it = cluster();
    for (const name of ['small', 'large']) {
      const resources = exactly(name === 'small' ? '100m' : '1200m', '32Mi');
      await it.createPod(name, { containers: [script('c', FOREVER, { resources })] });
    }
    await it.readyPod('large');
    await it.readyPod('small');
    await resize(it, 'small', container(exactly('1500m', '32Mi')));
    const waits = await it.podUntil('small', (pod) => condition(pod, 'PodResizePending') !== undefined);
    expect(condition(waits, 'PodResizePending')).toMatchObject({
      status: 'True',
      reason: 'Deferred',
      message: "Node didn't have enough resource: cpu, requested: 1500, used: 1200, capacity: 2000",
      observedGeneration: 2,
    });
    await it.eventUntil('small', 'ResizeDeferred', /"error":"Node didn't have enough resource: cpu/);
    await it.deletePod('large');
    const tookMs = await it.timed(() => it.podUntil('small', shows('1500m', '32Mi')));
    console.log(`granted and shown ${tookMs} ms after the other pod was gone`);
    await it.deletePod('small');
  });

  test('rejects a memory limit below the current usage, reports both values, and kills no container', async () => {
    const it = cluster();
    // Memory in tmpfs is charged to the cgroup of the process that writes it.
    const hog = 'head -c 41943040 /dev/zero > /dev/shm/hog; while true; do sleep 1; done';
    await it.createPod('hog', { containers: [script('c', hog, { resources: exactly('100m', '80Mi') })] });
    const before = await it.readyPod('hog');
    const group = groupOf(before, [containerId(before)]);
    await it.until('the memory to be used', async () =>
      Number(await value(group, 'memory', 'usage_in_bytes', 'current')) > 40 * MIB ? true : undefined,
    );
    await resize(it, 'hog', container(exactly('100m', '20Mi')));
    const refused = await it.podUntil('hog', (pod) => condition(pod, 'PodResizeInProgress')?.reason === 'Error');
    expect(condition(refused, 'PodResizeInProgress')?.message).toMatch(
      /^cannot decrease memory limits: \[attempting to set pod memory limit \(20971520\) below current usage \(\d+\), attempting to set container "c" memory limit \(20971520\) below current usage \(\d+\)\]$/,
    );
    expect(await memoryOf(groupOf(before))).toBe(80 * MIB);
    await resize(it, 'hog', container(exactly('100m', '96Mi')));
    const after = await it.podUntil('hog', shows('100m', '96Mi'));
    expect(containerId(after)).toBe(containerId(before));
    expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await it.deletePod('hog');
  });

  test('resizes pod-level resources and the resources of a sidecar', async () => {
    const it = cluster();
    const sidecar = script('side', FOREVER, { restartPolicy: 'Always', resources: { requests: { cpu: '50m' } } });
    await it.createPod('whole', {
      resources: exactly('200m', '64Mi'),
      initContainers: [sidecar],
      containers: [script('c', FOREVER)],
    });
    const before = await it.readyPod('whole');
    await resize(it, 'whole', { resources: exactly('300m', '96Mi') });
    const after = await it.podUntil('whole', (pod) => settled(pod) && pod.status?.resources?.limits?.memory === '96Mi');
    expect(await memoryOf(groupOf(after))).toBe(96 * MIB);
    expect(await quotaOf(groupOf(after))).toBe(30_000);
    expect(await memoryOf(groupOf(after, [containerId(after)]))).toBe(96 * MIB);
    await resize(it, 'whole', { initContainers: [{ name: 'side', resources: { requests: { cpu: '80m' } } }] });
    const last = await it.podUntil(
      'whole',
      (pod) => settled(pod) && pod.status?.initContainerStatuses?.[0]?.resources?.requests?.cpu === '80m',
    );
    expect(containerId(last)).toBe(containerId(before));
    expect(last.status?.initContainerStatuses?.[0]?.restartCount).toBe(0);
    await it.deletePod('whole');
  });

  test('K1: applies the last of several resizes after each kill of the kubelet, without restarting the container', async () => {
    const it = cluster();
    await it.createPod('kept', { containers: [script('c', FOREVER, { resources: exactly('100m', '64Mi') })] });
    const before = await it.readyPod('kept');
    for (let round = 1; round <= 6; round++) {
      const [cpu, mib] = round % 2 === 1 ? ['200m', 96] : ['100m', 64];
      await resize(it, 'kept', container(exactly(cpu as string, `${mib}Mi`)));
      await new Promise((resolve) => setTimeout(resolve, round * 7));
      await it.node.kill('SIGKILL');
      await it.node.start();
      const tookMs = await it.timed(() => it.podUntil('kept', shows(cpu as string, `${mib}Mi`)));
      console.log(`killed ${round * 7} ms after a resize was asked for: carried out ${tookMs} ms after the start`);
      expect(await memoryOf(groupOf(before))).toBe(Number(mib) * MIB);
      expect(await memoryOf(groupOf(before, [containerId(before)]))).toBe(Number(mib) * MIB);
    }
    const after = await it.podUntil('kept', settled);
    expect(containerId(after)).toBe(containerId(before));
    expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await it.deletePod('kept');
  });

  test('applies the last of two hundred resizes in a row, and none is left pending', async () => {
    const it = cluster();
    await it.createPod('many', { containers: [script('c', FOREVER, { resources: exactly('100m', '64Mi') })] });
    const before = await it.readyPod('many');
    const path = '/api/v1/namespaces/default/pods/many/resize';
    for (let turn = 0; turn < 200; turn++) {
      for (;;) {
        const pod = await it.get<Pod>('/api/v1/namespaces/default/pods/many');
        const [first] = pod?.spec.containers ?? [];
        const resources = exactly(`${101 + turn}m`, `${64 + (turn % 5)}Mi`);
        const changed = { ...pod, spec: { ...pod?.spec, containers: [{ ...first, resources }] } };
        // The status may have been written in the meantime, which causes a conflict.
        const { status, text } = await it.plane.request('PUT', path, changed);
        if (status === 409) continue;
        expect([status, text.slice(0, status === 200 ? 0 : 300)]).toEqual([200, '']);
        break;
      }
    }
    const after = await it.podUntil('many', shows('300m', '68Mi'));
    expect(containerId(after)).toBe(containerId(before));
    expect(await memoryOf(groupOf(after))).toBe(68 * MIB);
    expect(await quotaOf(groupOf(after))).toBe(30_000);
    await it.deletePod('many');
  });
});
