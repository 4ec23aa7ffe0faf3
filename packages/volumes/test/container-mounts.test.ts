import type { VolumeMount } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { containerDevices, containerMounts } from '../src/manager/container-mounts.ts';
import { podOf, setUp } from './helpers.ts';

const volumes = new Map([
  ['data', { hostPath: '/data', readOnly: false, selinuxRelabel: true }],
  ['fixed', { hostPath: '/fixed', readOnly: true, selinuxRelabel: false }],
]);
const mountOf = (mount: Partial<VolumeMount>, recursive = false) =>
  containerMounts(
    { name: 'c', volumeMounts: [{ name: 'data', mountPath: '/d', ...mount }] },
    volumes,
    recursive,
    new Map(),
  )[0];

describe('containerMounts', () => {
  it('a container without volumeMounts gets no mounts', () => {
    expect(containerMounts({ name: 'c' }, volumes, false, new Map())).toEqual([]);
  });

  it('container mounts get their paths and flags from the volumeMounts', () => {
    expect(mountOf({})).toEqual({
      containerPath: '/d',
      hostPath: '/data',
      readOnly: false,
      recursiveReadOnly: false,
      selinuxRelabel: true,
      propagation: 'None',
    });
  });

  it('a subPath mount requests SELinux relabelling if its volume does', () => {
    const parts = new Map([[0, { path: 'a', hostPath: '/parts/0' }]]);
    const mount = (name: string) => ({ name: 'c', volumeMounts: [{ name, mountPath: '/d', subPath: 'a' }] });
    const labelled = ['data', 'fixed'].map((name) => containerMounts(mount(name), volumes, false, parts)[0]);
    expect(labelled).toMatchObject([
      { hostPath: '/parts/0', selinuxRelabel: true },
      { hostPath: '/parts/0', selinuxRelabel: false },
    ]);
  });

  it.each<[Partial<VolumeMount>, boolean, object]>([
    [{ readOnly: true }, false, { readOnly: true }],
    [{ name: 'fixed' }, false, { readOnly: true, selinuxRelabel: false }],
    [{ mountPath: 'relative' }, false, { containerPath: '/relative' }],
    [{ mountPropagation: 'HostToContainer' }, false, { propagation: 'HostToContainer' }],
    [{ mountPropagation: 'Bidirectional' }, false, { propagation: 'Bidirectional' }],
    [{ recursiveReadOnly: 'Disabled' }, true, { recursiveReadOnly: false }],
    [{ readOnly: true, recursiveReadOnly: 'IfPossible' }, true, { recursiveReadOnly: true }],
    [{ readOnly: true, recursiveReadOnly: 'IfPossible' }, false, { recursiveReadOnly: false }],
    [{ readOnly: true, recursiveReadOnly: 'Enabled' }, true, { recursiveReadOnly: true }],
    [{ readOnly: true, recursiveReadOnly: 'Enabled', mountPropagation: 'None' }, true, { recursiveReadOnly: true }],
  ])(
    'the volumeMount %j (runtime supports recursive read-only mounts: %s) becomes a CRI mount with %j',
    (mount, recursive, expected) => {
      expect(mountOf(mount, recursive)).toMatchObject(expected);
    },
  );

  it.each<[Partial<VolumeMount>, string]>([
    [{ name: 'nope' }, 'cannot find volume "nope" to mount into container "c"'],
    [{ mountPropagation: 'Sideways' }, 'invalid MountPropagation mode: "Sideways"'],
    [
      { recursiveReadOnly: 'Enabled' },
      'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not read-only',
    ],
    [
      { readOnly: true, recursiveReadOnly: 'Enabled' },
      'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
    ],
    [
      { readOnly: true, recursiveReadOnly: 'IfPossible', mountPropagation: 'Bidirectional' },
      'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not compatible with propagation "Bidirectional"',
    ],
    [
      { readOnly: true, recursiveReadOnly: 'Perhaps' },
      'failed to resolve recursive read-only mode: unknown recursive read-only mode "Perhaps"',
    ],
  ])('refuses the volumeMount %j with the error: %s', (mount, message) => {
    expect(() => mountOf(mount)).toThrow(message);
  });
});

describe('block devices of a container', () => {
  const volumes = new Map(
    [true, false].map((readOnly) => [
      `${readOnly}`,
      { hostPath: `/links/${readOnly}`, readOnly, selinuxRelabel: false },
    ]),
  );
  const devices = (name: string, devicePath: string) =>
    containerDevices({ name: 'main', volumeDevices: [{ name, devicePath }] }, volumes);

  it.each([
    ['true', 'r'],
    ['false', 'mrw'],
  ])('a block device of a volume with readOnly %s has the permissions %s', (name, permissions) => {
    const device = { hostPath: `/links/${name}`, containerPath: '/dev/xvda', permissions };
    expect(devices(name, '/dev/xvda')).toEqual([device]);
  });

  it('containerDevices returns nothing for a container without volumeDevices', () => {
    expect(containerDevices({ name: 'main' }, volumes)).toEqual([]);
  });

  it('containerDevices refuses a missing volume and a relative devicePath', () => {
    expect(() => devices('none', '/dev/x')).toThrow('cannot find volume "none" to pass into container "main"');
    expect(() => devices('true', 'dev/x')).toThrow('error DevicePath `dev/x` must be an absolute path');
  });
});

describe('an image volume', () => {
  it('an image volume, with or without a subPath, is mounted by the runtime and leaves nothing on the host', async () => {
    const { manager, signal, under } = setUp();
    const volumeMounts = [
      { name: 'img', mountPath: '/all' },
      { name: 'img', mountPath: '/part', subPath: 'etc' },
    ];
    const container = { name: 'main', volumeMounts };
    const pod = podOf([{ name: 'img', image: { reference: 'data:1' } }], 'u1', { containers: [container] });
    expect(manager.unsupported(pod)).toEqual([]);
    await manager.waitForAttachAndMount(pod, signal);
    const mounts = await manager.containerMounts(pod, container, [], signal);
    expect(mounts).toMatchObject([
      { containerPath: '/all', hostPath: '', readOnly: true, imageVolume: { name: 'img', subPath: '' } },
      { containerPath: '/part', hostPath: '', readOnly: true, imageVolume: { name: 'img', subPath: 'etc' } },
    ]);
    expect(manager.volumePath(pod, 'img')).toBeUndefined();
    expect(under('u1')).toEqual([]);
    await manager.waitForUnmount(pod, signal);
    expect(await manager.podVolumesExist('u1')).toBe(false);
  });
});
