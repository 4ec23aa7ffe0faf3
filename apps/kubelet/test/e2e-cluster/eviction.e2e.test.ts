import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, statfs } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type CgroupManager, cgroupfsPath, openCgroups } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import type { TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const exec = promisify(execFile);
const MIB = 2 ** 20;

/** Parent of all cgroups of this test, with a unique name. */
const group = [`na-e2e-${randomUUID()}`];
let cgroups: CgroupManager | undefined;
beforeAll(async () => {
  cgroups = await openCgroups({ fs: nodeFileSystem, kill: process.kill.bind(process) });
  await cgroups.create(group, {});
});
afterAll(async () => {
  await cgroups?.destroy(group, new AbortController().signal);
});

/** Puts the kubelet's directory on a small file system that no other test fills. */
async function smallDisk(directory: string): Promise<void> {
  const image = join(directory, 'disk.img');
  const root = join(directory, 'root');
  await exec('truncate', ['-s', '300M', image]);
  await exec('mkfs.ext4', ['-q', '-m', '0', image]);
  await mkdir(root);
  await exec('mount', ['-o', 'loop', image, root]);
}

const configuration = {
  cgroupsPerQOS: true,
  cgroupRoot: cgroupfsPath(group),
  enforceNodeAllocatable: ['pods'],
  // Pods together may use 600 Mi and are evicted from 400 Mi on, regardless of other processes on the machine.
  systemReserved: { memory: `${Math.floor(os.totalmem() / MIB) - 600}Mi` },
  evictionHard: { 'nodefs.available': '120Mi', 'allocatableMemory.available': '200Mi' },
  evictionPressureTransitionPeriod: '5s',
  volumeStatsAggPeriod: '2s',
};

const fails = (pod: Pod): boolean => pod.status?.phase === 'Failed';

await withCluster('eviction', { subnet: '10.199.76.0/24', configuration, prepare: smallDisk }, (cluster) => {
  const condition = async (it: TestCluster, type: string): Promise<string | undefined> => {
    const node = await it.get<{ status: { conditions: { type: string; status: string }[] } }>('/api/v1/nodes/e2e');
    return node?.status.conditions.find((one) => one.type === type)?.status;
  };
  const container = (text: string, more: object = {}): object => script('c', text, more);

  test('evicts a pod whose emptyDir exceeds its size limit, and keeps a pod within its limit', async () => {
    const it = cluster();
    const write = (mb: number): object => ({
      containers: [
        container(`dd if=/dev/zero of=/v/file bs=1M count=${mb}; ${FOREVER}`, {
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        }),
      ],
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '10Mi' } }],
    });
    await it.createPod('within', write(5));
    await it.createPod('over', write(20));
    const over = await it.podUntil('over', fails);
    expect(over.status).toMatchObject({
      reason: 'Evicted',
      message: 'Usage of EmptyDir volume "v" exceeds the limit "10Mi". ',
    });
    expect(over.status?.conditions?.some(({ type }) => type === 'DisruptionTarget')).toBe(false);
    expect((await it.pod('within'))?.status?.phase).toBe('Running');
    const words = (await it.events('over')).map(({ reason, message }) => `${reason}: ${message}`);
    expect(words).toContain(`Evicted: ${over.status?.message}`);
    await it.deletePod('over');
    await it.deletePod('within');
  });

  test('evicts a pod whose writable layer exceeds its limit of ephemeral storage', async () => {
    const it = cluster();
    const limits = { 'ephemeral-storage': '10Mi' };
    const text = `dd if=/dev/zero of=/file bs=1M count=30; ${FOREVER}`;
    await it.createPod('layer', { containers: [container(text, { resources: { limits } })] });
    const pod = await it.podUntil('layer', fails);
    expect(pod.status).toMatchObject({
      reason: 'Evicted',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ',
    });
    await it.deletePod('layer');
  });

  test('N2: under memory pressure, evicts only the pod that uses the memory, within two seconds', async () => {
    const it = cluster();
    await it.createPod('modest', { containers: [container(FOREVER)] });
    await it.readyPod('modest');
    const volumes = [{ name: 'm', emptyDir: { medium: 'Memory' } }];
    const volumeMounts = [{ name: 'm', mountPath: '/m' }];
    const text = `sleep 15; dd if=/dev/zero of=/m/file bs=1M count=450; ${FOREVER}`;
    await it.createPod('hog', { containers: [container(text, { volumeMounts })], volumes });
    const hog = await it.podUntil('hog', fails);
    expect(hog.status?.reason).toBe('Evicted');
    expect(hog.status?.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: 200Mi, available: \d+Ki\. Container c was using \d+Ki, request is 0, has larger consumption of memory\. $/,
    );
    const { startedAt, finishedAt } = hog.status?.containerStatuses?.[0]?.state?.terminated ?? {};
    // The status reports how the container terminated, although an evicted pod's containers are removed.
    expect(startedAt).toBeDefined();
    expect(hog.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    console.log(`the hog ran from ${startedAt} to ${finishedAt}, and took memory 15 s after its start`);
    expect((await it.pod('modest'))?.status?.phase).toBe('Running');
    await it.until('MemoryPressure to end', async () => {
      return (await condition(it, 'MemoryPressure')) === 'False' || undefined;
    });
    await it.deletePod('hog');
    await it.deletePod('modest');
  });

  test('N2: under disk pressure, evicts only the pod that fills the disk; DiskPressure ends after the disk has room again', async () => {
    const it = cluster();
    const volumes = [{ name: 'v', emptyDir: {} }];
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    await it.createPod('quiet', { containers: [container(FOREVER)] });
    await it.readyPod('quiet');
    expect(await condition(it, 'DiskPressure')).toBe('False');
    const begunMs = performance.now();
    const text = `dd if=/dev/zero of=/v/file bs=1M count=180; ${FOREVER}`;
    await it.createPod('writer', { containers: [container(text, { volumeMounts })], volumes });
    const writer = await it.podUntil('writer', fails);
    console.log(`the writer was evicted ${Math.round(performance.now() - begunMs)} ms after it was made`);
    expect(writer.status?.reason).toBe('Evicted');
    expect(writer.status?.message).toMatch(
      /^The node was low on resource: ephemeral-storage\. Threshold quantity: 120Mi, available: \d+Ki\. /,
    );
    expect(writer.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    );
    await it.until('the disk to have room again', async () => {
      const { bavail, bsize } = await statfs(join(it.directory, 'root'));
      return bavail * bsize > 120 * 2 ** 20 || undefined;
    });
    expect((await it.pod('quiet'))?.status?.phase).toBe('Running');
    const events = await it.get<{ items: { reason: string; metadata: { annotations?: object } }[] }>(
      '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=writer,reason=Evicted',
    );
    expect(events?.items[0]?.metadata.annotations).toMatchObject({ starved_resource: 'ephemeral-storage' });
    await it.until('DiskPressure to end', async () => {
      return (await condition(it, 'DiskPressure')) === 'False' || undefined;
    });
    await it.deletePod('writer');
    await it.deletePod('quiet');
  });
});
