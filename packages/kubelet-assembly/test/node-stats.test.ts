import { FakeRuntime } from '@node-agent/fake-cri';
import { StatsProvider } from '@node-agent/stats';
import { describe, expect, test } from 'vitest';
import { nodeStats } from '../src/node-stats.ts';
import { makeWorld } from './node.ts';

type Settings = Parameters<typeof nodeStats>[2];

/** Returns the memory usage of cgroups. The fake usage of each cgroup is the length of its path. */
async function memoryOf(
  changes: Partial<Settings>,
  groups: readonly string[],
  cgroups?: { kubepodsPath: () => string | undefined },
): Promise<Readonly<Record<string, number | undefined>>> {
  const { clock, random, fs } = await makeWorld();
  const write = async (path: string, text: string): Promise<void> => {
    await fs.mkdir(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  };
  await write('/proc/stat', 'cpu  1 2\ncpu0 1 2\nbtime 1700000000\n');
  await write('/proc/meminfo', 'MemTotal:       10 kB\nSwapTotal:       2 kB\n');
  for (const group of ['', ...groups]) {
    await write(`/sys/fs/cgroup${group}/memory.current`, `${group.length}\n`);
    await write(`/sys/fs/cgroup${group}/memory.stat`, 'anon 1\nfile 1\nkernel 0\ninactive_file 0\n');
    await write(`/sys/fs/cgroup${group}/cpu.stat`, 'usage_usec 1\nuser_usec 1\nsystem_usec 0\n');
  }
  const size = { totalBytes: 9, freeBytes: 5, availableBytes: 4, inodes: 9, freeInodes: 5 };
  const files = {
    cgroups: async () => ({ version: 2, mount: '/sys/fs/cgroup' }) as const,
    disks: { statfs: async () => size },
  };
  const settings = {
    ...{ nodeName: 'n1', rootDirectory: '/root', node: { podLogsDirectory: '/logs/pods' } },
    ...changes,
  } as Settings;
  const cri = new FakeRuntime({ clock, random, fs }, { images: [] });
  const child = () => ({ clock }) as never;
  const stats = nodeStats(child, { cri, fs, stats: files }, settings, () => [], cgroups as never);
  const { node } = (await stats?.summary({}, new AbortController().signal)) ?? {};
  expect([stats, node?.nodeName]).toEqual([expect.any(StatsProvider), 'n1']);
  return Object.fromEntries((node?.systemContainers ?? []).map(({ name, memory }) => [name, memory?.usageBytes]));
}

describe('stats of a node', () => {
  test.each<[string, Partial<Settings>, string]>([
    ['at the root of the hierarchy by default', {}, '/kubepods'],
    ['at the root of the hierarchy', { cgroups: { cgroupRoot: '/' } as NonNullable<Settings['cgroups']> }, '/kubepods'],
    [
      'below a cgroup root',
      { cgroups: { cgroupRoot: '/own/node' } as NonNullable<Settings['cgroups']> },
      '/own/node/kubepods',
    ],
  ])('the stats of a node include the cgroup of all pods %s: $2', async (_name, settings, group) => {
    const groups = ['/kubepods', '/own/node/kubepods'];
    expect(await memoryOf(settings, groups)).toMatchObject({ pods: group.length });
    // As long as the cgroup driver is not known, the path is derived from the settings.
    expect(await memoryOf(settings, groups, { kubepodsPath: () => undefined })).toMatchObject({ pods: group.length });
  });

  test('the stats of a node include the cgroup of all pods under the name that the cgroup driver gives it', async () => {
    const group = '/kubepods.slice/of-a-driver';
    expect(await memoryOf({}, [group, '/kubepods'], { kubepodsPath: () => group })).toMatchObject({
      pods: group.length,
    });
  });

  test('the stats of a node include the configured system cgroups', async () => {
    const settings = { stats: { kubeletCgroups: '/agent.service', runtimeCgroups: '/cri' } };
    expect(await memoryOf(settings, ['/agent.service', '/cri'])).toMatchObject({ kubelet: 14, runtime: 4 });
  });
});

test('nodeStats returns undefined if the stats port is absent', () => {
  const child = () => ({}) as never;
  expect(nodeStats(child, {} as never, {} as never, () => [], undefined)).toBeUndefined();
});
