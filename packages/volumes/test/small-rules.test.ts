import { describe, expect, it } from 'vitest';
import { isReadWriteOncePod } from '../src/claims/claim-rule.ts';
import { fileSystemOf, isDisk, localNodeVolume, localPath } from '../src/claims/local-volume-rule.ts';
import { mountedVolumes, usedVolumes } from '../src/manager/pod-volumes.ts';
import type { VolumeSpec } from '../src/manager/resolved-volume.ts';
import { mountContext } from '../src/mount/mount-context.ts';
import { podOf } from './helpers.ts';

const spec = (its?: NonNullable<VolumeSpec['persistent']>['spec']): VolumeSpec => ({
  volume: { name: 'v' },
  persistent: { metadata: {}, ...(its && { spec: its }) },
});
const own: VolumeSpec = { volume: { name: 'v' } };

describe('rules for local PersistentVolumes', () => {
  it("the node volume name of a local PersistentVolume is the PersistentVolume's name", () => {
    expect(localNodeVolume('pv-1')).toMatchObject({ uniqueName: 'kubernetes.io/local-volume/pv-1', name: 'pv-1' });
  });

  it.each([
    [['ReadWriteOncePod'], true],
    [['ReadWriteOnce'], false],
    [['ReadWriteOncePod', 'ReadOnlyMany'], false],
    [['ReadOnlyMany', 'ReadWriteOncePod'], false],
    [[], false],
  ])('a PersistentVolume with access modes %j can be used by one pod only: %s', (accessModes, expected) => {
    expect(isReadWriteOncePod(spec({ accessModes }))).toBe(expected);
  });

  it('a volume without access modes can be used by several pods', () => {
    expect([spec({}), spec(), own].map(isReadWriteOncePod)).toEqual([false, false, false]);
  });

  it.each([
    ['/mnt/disk', '/mnt/disk'],
    ['mnt/..disk', '/mnt/..disk'],
  ])('a local PersistentVolume with the path %j is mounted from %s', (path, at) => {
    expect(localPath(spec({ local: { path } }))).toBe(at);
  });

  it.each([
    [spec({ local: { path: '' } }), 'local volume source is nil or local path is not set'],
    [spec({}), 'local volume source is nil or local path is not set'],
    [spec(), 'local volume source is nil or local path is not set'],
    [own, 'local volume source is nil or local path is not set'],
    [spec({ local: { path: '/mnt/..' } }), "invalid path: /mnt/.. must not contain '..'"],
  ])('W3: a local PersistentVolume with the spec %j is refused', (its, message) => {
    expect(() => localPath(its)).toThrow(expect.objectContaining({ code: 'InvalidPath', message }));
  });

  it('the path of a local PersistentVolume must be a directory or a block device', () => {
    expect([isDisk('/d', 'directory'), isDisk('/d', 'blockDevice')]).toEqual([false, true]);
    const refused = (message: string) => expect.objectContaining({ code: 'TypeCheckFailed', message });
    expect(() => isDisk('/d', undefined)).toThrow(refused('path "/d" does not exist'));
    expect(() => isDisk('/d', 'charDevice')).toThrow(refused('only directory and block device are supported'));
  });

  it.each([
    [spec({ local: { path: '/dev/sdb', fsType: 'xfs' } }), 'xfs'],
    [spec({ local: { path: '/dev/sdb', fsType: '' } }), 'ext4'],
    [spec({ local: { path: '/dev/sdb' } }), 'ext4'],
    [spec({}), 'ext4'],
    [spec(), 'ext4'],
    [own, 'ext4'],
  ])('a disk of the local PersistentVolume %j has the file system %s', (its, fsType) => {
    expect(fileSystemOf(its)).toBe(fsType);
  });
});

it.each([
  [undefined, {}],
  [{ runAsUser: 7, fsGroupChangePolicy: 'OnRootMismatch' }, {}],
  [{ fsGroup: 0 }, { fsGroup: { gid: 0, policy: 'Always' } }],
  [{ fsGroup: 7, fsGroupChangePolicy: 'Always' }, { fsGroup: { gid: 7, policy: 'Always' } }],
  [{ fsGroup: 7, fsGroupChangePolicy: 'OnRootMismatch' }, { fsGroup: { gid: 7, policy: 'OnRootMismatch' } }],
  [{ fsGroup: 7, fsGroupChangePolicy: 'Sometimes' }, { fsGroup: { gid: 7, policy: 'Always' } }],
])('the pod security context %j gives volumes the ownership %j', (securityContext, context) => {
  expect(mountContext(podOf([], 'u1', securityContext && { securityContext }))).toEqual(context);
});

describe('volumes that the containers of a pod use', () => {
  const volumes = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name, emptyDir: {} }));
  const container = (mount: string, device: string) => ({
    ...{ name: `of-${mount}`, volumeMounts: [{ name: mount, mountPath: '/m' }] },
    volumeDevices: [{ name: device, devicePath: '/d' }],
  });
  const pod = podOf(volumes, 'u1', {
    initContainers: [container('a', 'b')],
    containers: [{ name: 'idle' }, container('c', 'd')],
    ephemeralContainers: [container('e', 'f')],
  });

  it('a pod uses the volumes that its init, main and ephemeral containers mount or use as block devices', () => {
    const { mounts, devices } = usedVolumes(pod);
    expect([[...mounts], [...devices]]).toEqual([
      ['a', 'c', 'e'],
      ['b', 'd', 'f'],
    ]);
    expect(mountedVolumes(pod).map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('a pod without volumes uses no volume', () => {
    expect(mountedVolumes(podOf(undefined))).toEqual([]);
  });
});
