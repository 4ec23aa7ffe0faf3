import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod, Volume } from '@node-agent/pod-spec';
import { afterEach, describe, expect, test } from 'vitest';
import { csi, SIDE } from '../src/cases/index.ts';
import { callsOf } from '../src/csi/calls.ts';
import { BOUND_CLAIMS, CSI_CLAIMS, namesOfVolumes, stagedName } from '../src/csi/csi-claims.ts';
import type { DriverCall, DriverKey } from '../src/csi/drivers.ts';
import { loopFilesBelow } from '../src/csi/loop-files.ts';
import { mountsOf } from '../src/csi/mounts.ts';
import { type Fact, sortStorage, usesCsi } from '../src/csi/pod-storage.ts';
import { treeOf } from '../src/csi/tree.ts';
import type { Json } from '../src/differences.ts';

const UID = '3bdd2f0a-98e4-4f2e-8a3d-1c2b3a4d5e6f';
const OTHER_UID = '11111111-98e4-4f2e-8a3d-1c2b3a4d5e6f';

let directory = '';
afterEach(async () => {
  if (directory !== '') await rm(directory, { recursive: true });
  directory = '';
});
async function temporary(): Promise<string> {
  directory = await mkdtemp(join(tmpdir(), 'compare-csi-'));
  return directory;
}

function podWith(name: string, uid: string, volume: Omit<Volume, 'name'>): Pod {
  const spec = { containers: [], volumes: [{ name: 'v', ...volume }] };
  return { metadata: { name, namespace: 'n', uid }, spec };
}

describe('cases with CSI volumes', () => {
  const claimed = csi.flatMap(({ name, spec }) =>
    (spec.volumes ?? []).flatMap((volume) => [
      ...(volume.persistentVolumeClaim ? [volume.persistentVolumeClaim.claimName] : []),
      ...(volume.ephemeral ? [`${name}-${volume.name}`] : []),
    ]),
  );

  test('every CSI claim is used by a case, and every case uses only claims that are created', () => {
    expect(new Set(claimed)).toEqual(new Set(Object.keys(CSI_CLAIMS)));
  });

  test('a PVC from a volumeClaimTemplate is created with the pod and names a volume that exists on the same side', () => {
    expect(JSON.stringify(csi)).toContain(`"${SIDE}-csi-ephemeral-v"`);
    expect(BOUND_CLAIMS).not.toContain('csi-ephemeral-v');
    expect(BOUND_CLAIMS).toContain('csi-of-nobody-v');
  });
});

test('mountsOf returns the mounts below a directory without device numbers and mount IDs', () => {
  const table = [
    '36 35 0:30 / /r rw - tmpfs tmpfs rw',
    '41 36 8:1 /state/v1/data /r/pods/u/mount ro,noatime shared:41 master:7 - ext4 /dev/sda1 rw,discard',
    '42 36 0:6 /loop3 /r/plugins/dev rw - devtmpfs devtmpfs rw',
    '43 35 0:6 / /rest rw - devtmpfs devtmpfs rw',
    '',
  ].join('\n');
  expect(mountsOf(table, '/r')).toEqual([
    { point: '/r/pods/u/mount', text: '/dev/sda1 /state/v1/data ext4 ro,noatime rw,discard shared,master' },
    { point: '/r/plugins/dev', text: 'devtmpfs /loop3 devtmpfs rw rw private' },
  ]);
});

test('treeOf lists types, modes, owners, targets of links, and the bytes and fields of vol_data.json', async () => {
  const top = await temporary();
  await mkdir(join(top, 'b'));
  await chmod(join(top, 'b'), 0o2770);
  await writeFile(join(top, 'b/vol_data.json'), '{"driverName":"d"}\n', { mode: 0o644 });
  await writeFile(join(top, 'b/other'), 'x', { mode: 0o600 });
  await symlink('/dev/loop7', join(top, 'a'));
  const owner = `${process.getuid?.()}:${process.getgid?.()}`;
  expect(await treeOf(top)).toEqual([
    { path: 'a', facts: { facts: `link 777 ${owner}`, target: '/dev/loop7' } },
    { path: 'b', facts: `directory 2770 ${owner}` },
    { path: 'b/other', facts: `file 600 ${owner}` },
    {
      path: 'b/vol_data.json',
      facts: { facts: `file 644 ${owner}`, content: { fields: { driverName: 'd' }, text: '{"driverName":"d"}\n' } },
    },
  ]);
  expect(await treeOf(join(top, 'absent'))).toEqual([]);
});

test('loopFilesBelow returns the loop devices whose files are below a directory, with their settings', async () => {
  const sys = await temporary();
  for (const [name, file] of [
    ['loop0', '/r/dev/u'],
    ['loop1', '/rest/x'],
    ['sda', ''],
  ]) {
    await mkdir(join(sys, name ?? '', 'loop'), { recursive: true });
    await writeFile(join(sys, name ?? '', 'loop/backing_file'), `${file}\n`);
    await writeFile(join(sys, name ?? '', 'ro'), '0\n');
  }
  const settings = 'ro=0 autoclear= offset= sizelimit= partscan= dio=';
  expect(await loopFilesBelow('/r', sys)).toEqual([{ file: '/r/dev/u', settings }]);
});

let clockMs = 0;
function call(rpc: string, request: object, code = 'OK', driver: DriverKey = 'files'): DriverCall {
  clockMs += 1;
  return { driver, startedAtMs: clockMs, durationMs: 1, rpc, request: { ...request }, code };
}

describe('callsOf', () => {
  const target = (uid: string): string => `/r/pods/${uid}/volumes/kubernetes.io~csi/n/mount`;
  const stage = { volumeId: 'v1', stagingTargetPath: '/r/plugins/x/globalmount' };

  test('callsOf keeps distinct requests, the order of first calls and the number of successes', () => {
    const calls = [
      call('NodeGetCapabilities', {}),
      call('NodeStageVolume', stage, 'INTERNAL'),
      call('NodeStageVolume', stage, 'INTERNAL'),
      call('NodeStageVolume', stage),
      call('NodePublishVolume', { volumeId: 'v1', targetPath: target(UID) }),
      call('NodeGetVolumeStats', { volumeId: 'v1', volumePath: target(UID) }),
      call('NodeGetVolumeStats', { volumeId: 'v1', volumePath: target(UID) }),
      call('NodeStageVolume', { ...stage, volumeId: 'v2' }),
    ];
    const found = callsOf(calls, { podUid: UID, handles: ['v1'] }) as unknown as {
      readonly requests: Readonly<Record<string, readonly Json[]>>;
    };
    expect(found).toMatchObject({
      order: 'NodeStageVolume,NodePublishVolume',
      succeeded: { NodeStageVolume: 1, NodePublishVolume: 1 },
    });
    expect(Object.entries(found.requests).map(([rpc, list]) => [rpc, list.length])).toEqual([
      ['NodeStageVolume', 2],
      ['NodePublishVolume', 1],
      ['NodeGetVolumeStats', 1],
    ]);
  });

  test('callsOf assigns the calls of a shared volume by the pod in the path, and inline volumes by the path alone', () => {
    const calls = [UID, OTHER_UID].flatMap((uid) => [
      call('NodePublishVolume', { volumeId: 'v1', targetPath: target(uid), by: uid }),
      call('NodePublishVolume', { volumeId: `csi-of-${uid}`, targetPath: target(uid), by: uid }),
    ]);
    const found = JSON.stringify(callsOf(calls, { podUid: UID, handles: ['v1'] }));
    expect(found).toContain(`csi-of-${UID}`);
    expect(found).not.toContain(OTHER_UID);
  });

  test('callsOf considers requests equal that differ only in the order of map entries', () => {
    const maps = [
      { a: '1', b: '2' },
      { b: '2', a: '1' },
    ];
    const calls = maps.map((volumeContext) => call('NodeStageVolume', { ...stage, volumeContext }, 'INTERNAL'));
    expect(callsOf(calls, { podUid: UID, handles: ['v1'] })).toMatchObject({
      requests: { NodeStageVolume: [{ code: 'INTERNAL' }] },
    });
  });

  test('callsOf does not count calls that are repeated because of requiresRepublish', () => {
    const publish = (): DriverCall =>
      call('NodePublishVolume', { volumeId: 'v1', targetPath: target(UID) }, 'OK', 'unstaged');
    const count = (calls: readonly DriverCall[]): Json => callsOf(calls, { podUid: UID, handles: ['v1'] });
    expect(count([publish()])).toEqual(count([publish(), publish()]));
  });
});

describe('sortStorage', () => {
  const disk = (path: string): Fact => ({ kind: 'disk', path, facts: 'directory 755 0:0' });
  const volume = { claim: 'csi-ext4', name: 'go-side-csi-ext4', handle: 'v1' };
  const pod = podWith('p', UID, { persistentVolumeClaim: { claimName: 'csi-ext4' } });

  test('sortStorage assigns facts by pod UID, volume name and hash, and returns the other facts separately', () => {
    const own = [
      `pods/${UID}/volumes/kubernetes.io~csi/go-side-csi-ext4`,
      `plugins/kubernetes.io/csi/d/${stagedName('v1')}/globalmount`,
      'plugins/kubernetes.io/csi/volumeDevices/go-side-csi-ext4/dev',
    ];
    const facts = [...own.map(disk), disk('plugins/kubernetes.io/csi/d')];
    const claims = new Map<string, Json>([
      ['csi-ext4', { phase: 'Bound' }],
      ['other', null],
    ]);
    const { pods, others } = sortStorage({ pods: [pod], volumes: [volume], facts, calls: [], claims });
    const found = pods.get('p') as unknown as { readonly disk: object; readonly claims: object };
    expect(Object.keys(found.disk)).toEqual(own);
    expect(found.claims).toEqual({ 'csi-ext4': { phase: 'Bound' } });
    expect(others).toEqual({ disk: { 'plugins/kubernetes.io/csi/d': 'directory 755 0:0' }, mounts: {}, loops: {} });
  });

  test('sortStorage shows several mounts at one path as a list', () => {
    const path = `pods/${UID}/volumes/kubernetes.io~csi/x/mount`;
    const facts: readonly Fact[] = ['lower', 'upper'].map((text) => ({ kind: 'mounts', path, facts: text }));
    const { pods } = sortStorage({ pods: [pod], volumes: [volume], facts, calls: [], claims: new Map() });
    expect(pods.get('p')).toMatchObject({ mounts: { [path]: ['lower', 'upper'] } });
  });

  test.each<[expected: boolean, volume: Omit<Volume, 'name'>]>([
    [true, { csi: { driver: 'd' } }],
    [true, { persistentVolumeClaim: { claimName: 'csi-ext4' } }],
    [false, { persistentVolumeClaim: { claimName: 'local' } }],
    [false, { emptyDir: {} }],
  ])('usesCsi is %s for a pod with the volume %j', (expected, one) => {
    expect(usesCsi(podWith('p', UID, one))).toBe(expected);
  });
});

test('namesOfVolumes gives each volume of a side placeholders of its own', () => {
  const names = namesOfVolumes([{ claim: 'c', name: 'n', handle: 'v1' }]);
  expect(names).toEqual({ v1: '<volume of c>', [stagedName('v1')]: '<hash of c>' });
});
