import type { PodSpec } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import {
  bindingProblem,
  checkNodeAffinity,
  claimOf,
  claimProblem,
  modeProblem,
  mountOptionsOf,
  optionsFor,
  ownerProblem,
  persistentVolumeType,
  volumeGid,
} from '../src/claims/claim-rule.ts';
import type { ClaimData, PersistentVolumeData } from '../src/claims/claim-source.ts';
import { podOf } from './helpers.ts';

const volumeOf = (spec?: PersistentVolumeData['spec']): PersistentVolumeData => ({
  metadata: {},
  ...(spec && { spec }),
});
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const bound = { spec: { volumeName: 'pv-1' }, status: { phase: 'Bound' } };

describe('the PVC that a pod volume refers to', () => {
  it.each<[NonNullable<PodSpec['volumes']>[number], object | undefined]>([
    [
      { name: 'v', persistentVolumeClaim: { claimName: 'c' } },
      { name: 'c', readOnly: false, isEphemeral: false },
    ],
    [
      { name: 'v', persistentVolumeClaim: { claimName: 'c', readOnly: true } },
      { name: 'c', readOnly: true, isEphemeral: false },
    ],
    [
      { name: 'v', ephemeral: {} },
      { name: 'pod-u1-v', readOnly: false, isEphemeral: true },
    ],
    [
      { name: 'v', persistentVolumeClaim: { claimName: 'c' }, ephemeral: {} },
      { name: 'c', readOnly: false, isEphemeral: false },
    ],
    [{ name: 'v', emptyDir: {} }, undefined],
  ])('the pod volume %j refers to the PVC %j', (volume, claim) => {
    expect(claimOf(podOf([]), volume)).toEqual(claim);
  });
});

it.each<[ClaimData, string | undefined]>([
  [{ metadata: {}, ...bound }, undefined],
  [{ metadata: { finalizers: [] }, ...bound }, undefined],
  [{ metadata: deleted, ...bound }, 'PVC is being deleted'],
  [{ metadata: { ...deleted, finalizers: ['kubernetes.io/pvc-protection'] }, ...bound }, undefined],
  [{ metadata: {}, ...bound, status: {} }, 'PVC is not bound'],
  [{ metadata: {}, spec: bound.spec }, 'PVC is not bound'],
  [{ metadata: {}, ...bound, spec: { volumeName: '' } }, 'PVC has empty pvc.Spec.VolumeName'],
  [{ metadata: {}, status: bound.status }, 'PVC has empty pvc.Spec.VolumeName'],
])('a pod cannot use the PVC %j because: %s', (claim, problem) => {
  expect(claimProblem(claim)).toBe(problem);
});

describe('the PVC of a generic ephemeral volume', () => {
  const owner = (uid: string, controller?: boolean) => ({
    ...{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid },
    ...(controller !== undefined && { controller }),
  });
  it.each<[string, ClaimData['metadata'], boolean]>([
    ['that the pod owns', { namespace: 'default', ownerReferences: [owner('u1', true)] }, true],
    [
      'that the pod and another object own',
      { namespace: 'default', ownerReferences: [owner('u0'), owner('u1', true)] },
      true,
    ],
    [
      'whose owner reference to the pod is no controller reference',
      { namespace: 'default', ownerReferences: [owner('u1')] },
      false,
    ],
    ['in another namespace', { namespace: 'other', ownerReferences: [owner('u1', true)] }, false],
    ['without an owner', { namespace: 'default' }, false],
  ])('a PVC %s belongs to the pod as its generic ephemeral volume: $2', (_what, metadata, isIts) => {
    const message = `PVC ${metadata.namespace}/c was not created for pod default/pod-u1 (pod is not owner)`;
    const claim = { metadata: { name: 'c', ...metadata } };
    expect(ownerProblem(claim, podOf([]))).toBe(isIts ? undefined : message);
  });
});

it.each<[PersistentVolumeData['spec'], string | undefined, string | undefined]>([
  [{ claimRef: { uid: 'u' } }, 'u', undefined],
  [{ claimRef: { uid: 'x' } }, 'u', 'but its pv.Spec.ClaimRef.UID x does not point to claim.UID u'],
  [{ claimRef: {} }, 'u', 'but its pv.Spec.ClaimRef.UID  does not point to claim.UID u'],
  [{ claimRef: { uid: 'x' } }, undefined, 'but its pv.Spec.ClaimRef.UID x does not point to claim.UID '],
  [{}, 'u', 'but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim'],
  [undefined, 'u', 'but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim'],
])('a PersistentVolume with the spec %j and a PVC with UID %s have the binding problem %s', (spec, uid, problem) => {
  const claim = { metadata: { ...(uid && { uid }) } };
  expect(bindingProblem('pv-1', volumeOf(spec), claim)).toBe(problem && `found PV object pv-1 ${problem}`);
});

it.each<[string | undefined, 'mounts' | 'devices' | 'nothing', string | undefined]>([
  ['Filesystem', 'mounts', undefined],
  ['Block', 'devices', undefined],
  ['Filesystem', 'nothing', undefined],
  ['Block', 'nothing', undefined],
  ['Block', 'mounts', 'volume data has volumeMode Block, but is specified in volumeMounts'],
  ['Filesystem', 'devices', 'volume data has volumeMode Filesystem, but is specified in volumeDevices'],
  [undefined, 'mounts', 'cannot get volumeMode for volume: pv-1'],
])(
  'a PersistentVolume with volumeMode %s that a container uses as %s has the problem %s',
  (volumeMode, used, problem) => {
    const container = {
      name: 'main',
      ...(used === 'mounts' && { volumeMounts: [{ name: 'data', mountPath: '/d' }] }),
      ...(used === 'devices' && { volumeDevices: [{ name: 'data', devicePath: '/dev/d' }] }),
    };
    const pod = podOf([], 'u1', { containers: [container] });
    const persistent = volumeOf(volumeMode === undefined ? undefined : { volumeMode });
    expect(modeProblem('pv-1', persistent, pod, { name: 'data' })).toBe(problem);
  },
);

it('a PersistentVolume can be mounted on nodes that its nodeAffinity selects, and on all nodes if it has none', () => {
  const terms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }];
  const zonal = volumeOf({ nodeAffinity: { required: { nodeSelectorTerms: terms } } });
  for (const volume of [volumeOf(), volumeOf({}), volumeOf({ nodeAffinity: {} })])
    checkNodeAffinity('pv-1', volume, {});
  checkNodeAffinity('pv-1', zonal, { zone: 'a' });
  const message = 'MountVolume.NodeAffinity check failed for volume "pv-1" : no matching NodeSelectorTerms';
  expect(() => checkNodeAffinity('pv-1', zonal, { zone: 'b' })).toThrow(
    expect.objectContaining({ code: 'WrongNode', message }),
  );
  const block = volumeOf({ ...zonal.spec, volumeMode: 'Block' });
  expect(() => checkNodeAffinity('pv-1', block, {})).toThrow(/^MapVolume\.NodeAffinity check failed/);
});

describe('mount options of a PersistentVolume', () => {
  it.each<[Record<string, string> | undefined, readonly string[] | undefined, readonly string[]]>([
    [undefined, undefined, []],
    [{}, [], []],
    [{}, ['ro', ''], ['ro']],
    [{ 'volume.beta.kubernetes.io/mount-options': 'noexec,,nodev' }, ['ro'], ['noexec', 'nodev']],
    [{ 'volume.beta.kubernetes.io/mount-options': '' }, ['ro'], []],
  ])(
    'a PersistentVolume with the annotations %j and spec.mountOptions %j has the mount options %j',
    (annotations, mountOptions, options) => {
      const metadata = annotations === undefined ? {} : { annotations };
      const persistent = { metadata, ...(mountOptions && { spec: { mountOptions } }) };
      expect(mountOptionsOf(persistent)).toEqual(options);
    },
  );

  const persistent = volumeOf({ mountOptions: ['rw', 'nodev', 'noexec', 'nodev'] });
  it.each([
    [{ persistent }, ['nodev', 'noexec', 'rw']],
    [{ persistent, readOnly: false }, ['nodev', 'noexec', 'rw']],
    [{ persistent, readOnly: true }, ['nodev', 'noexec', 'ro']],
    [{ persistent: volumeOf({ mountOptions: ['sync,rw', 'a,,b'] }), readOnly: true }, ['a', 'b', 'ro', 'sync']],
    [{ readOnly: true }, ['ro']],
    [{}, []],
  ])('the volume %j is mounted with the options %j', (spec, options) => {
    expect(optionsFor({ volume: { name: 'v' }, ...spec })).toEqual(options);
  });
});

it.each([
  [{ annotations: { 'pv.beta.kubernetes.io/gid': '1234' } }, 1234],
  [{ annotations: { 'pv.beta.kubernetes.io/gid': 'staff' } }, undefined],
  [{ annotations: { 'pv.beta.kubernetes.io/gid': '' } }, undefined],
  [{ annotations: { gid: '1234' } }, undefined],
  [{}, undefined],
])('a PersistentVolume with the metadata %j adds the supplemental group %s', (metadata, gid) => {
  expect(volumeGid({ metadata })).toBe(gid);
});

describe('the plugin type of a PersistentVolume', () => {
  const common = {
    ...{ accessModes: [], capacity: {}, claimRef: {}, mountOptions: [], nodeAffinity: {} },
    ...{ persistentVolumeReclaimPolicy: 'Retain', storageClassName: 's', volumeAttributesClassName: 'a' },
    volumeMode: 'Filesystem',
  };
  it.each<[object | undefined, string]>([
    [{ ...common, nfs: { server: 's', path: '/' } }, 'nfs'],
    [{ ...common, csi: undefined, local: { path: '/' } }, 'local'],
    [common, 'unknown'],
    [undefined, 'unknown'],
  ])('the plugin type of a PersistentVolume with the spec %j is %s', (spec, type) => {
    expect(persistentVolumeType(volumeOf(spec))).toBe(type);
  });
});
