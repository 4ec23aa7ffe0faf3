import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { podQosClass } from '@node-agent/pod-spec';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compareGroups, groupReport } from '../src/groups/compare-groups.ts';
import { groupNames, mixedPods } from '../src/groups/pods.ts';
import { type Groups, nameOf, readGroups } from '../src/groups/read-groups.ts';

const ID = 'a'.repeat(64);
const SANDBOX = 'b'.repeat(64);
const UID = '0123-45';
const names = new Map([
  [UID, 'web'],
  [ID, '<main>'],
]);

describe('readGroups', () => {
  let root = '';
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'na-groups-'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };

  test('readGroups reads the configuration files of each cgroup, without files for state or statistics', async () => {
    await write('mine/memory.max', '100\n');
    await write('mine/memory.current', '7\n');
    await write(`mine/pod${UID}/cpu.weight`, '5\n');
    await write(`mine/pod${UID}/cgroup.procs`, '1\n');
    await write(`mine/pod${UID}/${ID}/memory.events`, 'oom 1\n');
    await write(`mine/pod${UID}/${ID}/pids.max`, 'max\n');
    await write(`mine/pod${UID}/${SANDBOX}/memory.high`, 'max\n');
    await write('others/cpu.weight', '9\n');
    expect(await readGroups(new Map([['', root]]), '/mine', names)).toEqual(
      new Map([
        ['/podweb/<main>', { 'pids.max': 'max' }],
        ['/podweb/<sandbox>', { 'memory.high': 'max' }],
        ['/podweb', { 'cpu.weight': '5' }],
        ['/', { 'memory.max': '100' }],
      ]),
    );
  });

  test('readGroups reads the cgroups of each cgroup v1 controller', async () => {
    await write('cpu/mine/cpu.shares', '2');
    await write('memory/mine/memory.limit_in_bytes', '4096');
    await write('memory/mine/memory.usage_in_bytes', '17');
    const mounts = new Map([
      ['cpu', join(root, 'cpu')],
      ['memory', join(root, 'memory')],
    ]);
    expect(await readGroups(mounts, '/mine', names)).toEqual(
      new Map([
        ['cpu:/', { 'cpu.shares': '2' }],
        ['memory:/', { 'memory.limit_in_bytes': '4096' }],
      ]),
    );
  });

  test.each([
    ['podabc', 'podabc'],
    [`cri-containerd-${ID}.scope`, 'cri-containerd-<main>.scope'],
    // In names of systemd slices, a UID has underscores.
    ['kubepods-pod0123_45.slice', 'kubepods-podweb.slice'],
  ])('nameOf replaces %s by %s', (part, expected) => {
    expect(nameOf(part, names)).toBe(expected);
  });
});

describe('compareGroups', () => {
  const go: Groups = new Map([
    ['/', { a: '1', b: '2' }],
    ['/podweb', { a: '1' }],
  ]);
  test('compareGroups finds a differing value, file and cgroup', () => {
    const ours: Groups = new Map([
      ['/', { a: '1', b: '3', c: '4' }],
      ['/podother', { a: '1' }],
    ]);
    const comparison = compareGroups(go, ours, []);
    expect(comparison).toMatchObject({ groups: 2, files: 3, intended: [] });
    expect(comparison.unexpected).toEqual([
      { path: '/ b', go: '2', ours: '3' },
      { path: '/ c', go: undefined, ours: '4' },
      { path: '/podother', go: undefined, ours: { a: '1' } },
      { path: '/podweb', go: { a: '1' }, ours: undefined },
    ]);
    expect(groupReport(comparison, false)).toMatch(/^\/ b\n {2}Go: {3}"2"\n {2}here: "3"\n/);
  });

  test('compareGroups separates intended differences from unexpected differences', () => {
    const ours: Groups = new Map([...go, ['/', { a: '1', b: '3' }]]);
    const comparison = compareGroups(go, ours, [{ pattern: /^\/ b$/, why: 'it is better' }]);
    expect(comparison.unexpected).toEqual([]);
    expect(groupReport(comparison, false)).toBe('2 cgroups, 3 files: 0 unexpected and 1 intended differences\n');
    expect(groupReport(comparison, true)).toContain('(it is better)');
  });
});

test('mixedPods has all QoS classes, and groupNames maps UIDs and container IDs to names', () => {
  const classes = mixedPods.map(({ spec }) => podQosClass({ spec }));
  expect(new Set(classes)).toEqual(new Set(['Guaranteed', 'Burstable', 'BestEffort']));
  expect(mixedPods).toHaveLength(10);
  const pod = {
    metadata: { name: 'web-n1', namespace: 'n', uid: UID },
    spec: { containers: [] },
    status: { containerStatuses: [{ name: 'main', containerID: `containerd://${ID}` }] },
  };
  expect(groupNames([pod as never], 'n1')).toEqual(names);
});
