import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CgroupManager, cgroupfsPath, openCgroups, readHierarchy } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';
import { Containerd, findContainerd } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { containerId, script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';
const MIB = 2 ** 20;

const found = await findContainerd();

if ('reason' in found) {
  test('creates cgroups for pods', (context) => context.skip(found.reason));
} else {
  const { binaries } = found;
  const hierarchy = await readHierarchy(nodeFileSystem);
  const { signal } = new AbortController();
  /** Parent of all cgroups of this test, with a unique name. */
  const root = [`na-e2e-${randomUUID()}`];
  const kubepods = [...root, 'kubepods'];

  describe(`cgroups of pods on cgroup v${hierarchy.version}`, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let cgroups: CgroupManager;
    let node: TestNode;

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      cgroups = await openCgroups({ fs: nodeFileSystem, kill: process.kill.bind(process) });
      await cgroups.create(root, {});
      containerd = new Containerd({ binaries, directory: join(directory, 'c'), subnet: '10.199.61.0/24' });
      await containerd.start();
      const enforced = { cgroupsPerQOS: true, enforceNodeAllocatable: ['pods'], systemReserved: { memory: '1Gi' } };
      node = new TestNode({
        directory,
        endpoint: containerd.endpoint,
        configuration: { ...enforced, cgroupRoot: cgroupfsPath(root), podPidsLimit: 200 },
      });
      await node.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await containerd?.stop();
      await cgroups?.destroy(root, signal);
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    const groupPath = (controller: string, name: readonly string[]): string => {
      const mount = hierarchy.version === 1 ? hierarchy.mounts.get(controller) : hierarchy.mount;
      return `${mount}${cgroupfsPath(name)}`;
    };
    const value = async (name: readonly string[], controller: string, v1: string, v2: string): Promise<string> => {
      const file = hierarchy.version === 1 ? v1 : v2;
      return (await readFile(`${groupPath(controller, name)}/${controller}.${file}`, 'utf8')).trim();
    };
    /** Returns the memory limit of a cgroup. The kernel rounds memory values to pages. */
    const memoryOf = async (name: readonly string[]): Promise<number> =>
      Number(await value(name, 'memory', 'limit_in_bytes', 'max'));
    const onV = <T>(v1: T, v2: T): T => (hierarchy.version === 1 ? v1 : v2);

    test('creates the cgroups and limits of a Guaranteed, a Burstable and a BestEffort pod, and removes them afterwards', async () => {
      const both = { cpu: '200m', memory: '64Mi' };
      const pods = {
        guaranteed: script('c', FOREVER, { resources: { requests: both, limits: both } }),
        burstable: script('c', FOREVER, { resources: { requests: { cpu: '100m' }, limits: { memory: '32Mi' } } }),
        besteffort: script('c', FOREVER),
      };
      const parents: Readonly<Record<string, readonly string[]>> = {
        guaranteed: kubepods,
        burstable: [...kubepods, 'burstable'],
        besteffort: [...kubepods, 'besteffort'],
      };
      for (const [name, container] of Object.entries(pods))
        await node.write({ name, spec: { containers: [container] } });
      const names = new Map<string, readonly string[]>();
      for (const name of Object.keys(pods)) {
        const pod = await node.running(name);
        const group = [...(parents[name] ?? []), `pod${pod.metadata.uid}`];
        names.set(name, group);
        expect(await cgroups.missing(group)).toEqual([]);
        // The pod's containers are in the pod's cgroup only.
        const inside = await cgroups.children(group);
        expect(inside).toContain(containerId(pod));
        expect(await value(group, 'pids', 'max', 'max')).toBe('200');
      }
      const groupOf = (name: string): readonly string[] => names.get(name) ?? [];
      const cpu = (name: readonly string[]): Promise<string> => value(name, 'cpu', 'shares', 'weight');
      const quota = (name: readonly string[]): Promise<string> => value(name, 'cpu', 'cfs_quota_us', 'max');

      expect(await cpu(groupOf('guaranteed'))).toBe(onV('204', '8'));
      expect(await quota(groupOf('guaranteed'))).toBe(onV('20000', '20000 100000'));
      expect(await memoryOf(groupOf('guaranteed'))).toBe(64 * MIB);
      expect(await cpu(groupOf('burstable'))).toBe(onV('102', '4'));
      expect(await quota(groupOf('burstable'))).toBe(onV('-1', 'max 100000'));
      expect(await memoryOf(groupOf('burstable'))).toBe(32 * MIB);
      expect(await cpu(groupOf('besteffort'))).toBe(onV('2', '1'));
      expect(await cpu([...kubepods, 'besteffort'])).toBe(onV('2', '1'));
      await node.until('the CPU weight of the Burstable cgroup', async () =>
        (await cpu([...kubepods, 'burstable'])) === onV('102', '4') ? true : undefined,
      );
      const total = Number(/MemTotal:\s+(\d+)/.exec(await readFile('/proc/meminfo', 'utf8'))?.[1]) * 1024;
      expect(await memoryOf(kubepods)).toBe(total - 1024 * MIB);

      for (const name of Object.keys(pods)) await node.remove(name);
      await node.until('their groups to be gone', async () => {
        const left = await Promise.all([...names.values()].map((name) => cgroups.exists(name)));
        return left.includes(true) ? undefined : true;
      });
      // On cgroup v1 a cgroup is removed from one hierarchy after another.
      await node.until('only the cgroups of the QoS classes to be left', async () =>
        (await cgroups.children(kubepods)).toSorted().join() === 'besteffort,burstable' ? true : undefined,
      );
      for (const parent of Object.values(parents).slice(1)) {
        await node.until('nothing below', async () =>
          (await cgroups.children(parent)).length === 0 ? true : undefined,
        );
      }
    });

    test('K1: after a restart, kills the processes that a killed kubelet left in a cgroup, and removes the cgroup', async () => {
      await node.kill('SIGKILL');
      const left = [...kubepods, 'burstable', `pod${randomUUID()}`];
      await cgroups.create([...left, 'inner'], {});
      const child = spawn('sleep', ['600'], { stdio: 'ignore' });
      const ended = new Promise((resolve) => child.on('exit', (_code, reason) => resolve(reason)));
      for (const controller of onV(['memory', 'pids'], [''])) {
        await writeFile(`${groupPath(controller, [...left, 'inner'])}/cgroup.procs`, String(child.pid));
      }
      await node.start();
      expect(await ended).toBe('SIGKILL');
      await node.until('the group to be gone', async () => ((await cgroups.exists(left)) ? undefined : true));
    });

    test('restarts a pod in a cgroup of its own after cgroupsPerQOS was enabled', async () => {
      await node.kill('SIGTERM');
      const bare = new TestNode({ directory, endpoint: containerd.endpoint });
      await bare.start();
      await bare.write({ name: 'moved', spec: { containers: [script('c', FOREVER)] } });
      const before = await bare.running('moved');
      await bare.kill('SIGTERM');
      // The kubelet starts with the same configuration file, whose content has changed.
      await node.start();
      const after = await node.podUntil(
        'moved',
        (pod) => pod.status?.phase === 'Running' && containerId(pod) !== containerId(before),
      );
      const group = [...kubepods, 'besteffort', `pod${after.metadata.uid}`];
      expect(await cgroups.children(group)).toContain(containerId(after));
      await node.remove('moved');
    });
  });
}
