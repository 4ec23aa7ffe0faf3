import type { PodSpec } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import type { ClaimData, PersistentVolumeData } from '../src/claims/claim-source.ts';
import { EMPTY_DIRS, errorOf, MemoryClaims, podOf, setUp } from './helpers.ts';

const claimed = (claimName: string, readOnly?: boolean): NonNullable<PodSpec['volumes']>[number] => ({
  name: 'data',
  persistentVolumeClaim: { claimName, ...(readOnly !== undefined && { readOnly }) },
});

function make() {
  const claims = new MemoryClaims();
  return { claims, ...setUp({}, {}, claims) };
}

describe('a PVC bound to a hostPath PersistentVolume', () => {
  it('a PVC mounts the host path of its PersistentVolume, read-only if the pod requests it, and never changes that path', async () => {
    const { claims, fs, manager, signal, under } = make();
    await fs.mkdir('/srv/data');
    claims.bind('c', 'pv-1', { hostPath: { path: '/srv/data', type: 'Directory' } });
    for (const readOnly of [false, true]) {
      const pod = podOf([claimed('c', readOnly)], `u-${readOnly}`);
      const [container] = pod.spec.containers;
      await manager.waitForAttachAndMount(pod, signal);
      const mounts = container && (await manager.containerMounts(pod, container, [], signal));
      expect(mounts).toMatchObject([{ hostPath: '/srv/data', containerPath: '/mnt/data', readOnly }]);
      expect(under(`u-${readOnly}`)).toEqual([]);
      await manager.waitForUnmount(pod, signal);
    }
    expect(await fs.exists('/srv/data')).toBe(true);
  });

  it('the host path of a PersistentVolume is checked against its hostPath type, and a failure names the PersistentVolume', async () => {
    const { claims, manager, signal, events } = make();
    claims.bind('c', 'pv-1', { hostPath: { path: '/srv/data', type: 'Directory' } });
    const error = await errorOf(manager.waitForAttachAndMount(podOf([claimed('c')]), signal));
    const why = 'hostPath type check failed: /srv/data is not a directory';
    expect(error.message).toContain(
      `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: ${why}`,
    );
    expect(events).toEqual([`FailedMount: MountVolume.SetUp failed for volume "pv-1" : ${why}`]);
  });

  it('a PVC that a pod uses in two volumes is mounted for both volume names', async () => {
    const { claims, manager, signal } = make();
    claims.bind('c', 'pv-1', { hostPath: { path: '/srv/data' } });
    const pod = podOf([claimed('c'), { ...claimed('c'), name: 'again' }]);
    await manager.waitForAttachAndMount(pod, signal);
    expect(['data', 'again'].map((name) => manager.volumePath(pod, name))).toEqual(['/srv/data', '/srv/data']);
    await manager.waitForUnmount(pod, signal);
    expect(manager.volumePath(pod, 'again')).toBeUndefined();
  });

  it('K3: a pod with ready volumes continues while the API server is down, because its PVC is not read again', async () => {
    const { claims, manager, signal } = make();
    claims.bind('c', 'pv-1', { hostPath: { path: '/srv/data' } });
    await manager.waitForAttachAndMount(podOf([claimed('c')]), signal);
    expect(claims.asked).toEqual(['claim default/c', 'volume pv-1']);
    claims.failure = new Error('connection refused');
    await manager.waitForAttachAndMount(podOf([claimed('c')]), signal);
    expect(claims.asked).toHaveLength(2);
  });

  it('subPaths of a PVC are created below the host path of its PersistentVolume', async () => {
    const { claims, fs, manager, signal, under } = make();
    await fs.mkdir('/srv/data/part');
    claims.bind('c', 'pv-1', { hostPath: { path: '/srv/data' } });
    const pod = podOf([claimed('c')], 'u1', {
      containers: [{ name: 'main', volumeMounts: [{ name: 'data', mountPath: '/d', subPath: 'part' }] }],
    });
    await manager.waitForAttachAndMount(pod, signal);
    const [container] = pod.spec.containers;
    if (container) await manager.containerMounts(pod, container, [], signal);
    expect(under('u1')).toContain('volume-subpaths/pv-1/main/0');
    await manager.waitForUnmount(pod, signal);
    expect(under('u1')).toEqual([]);
  });
});

describe('a PVC that a pod cannot use', () => {
  const hostPath = { hostPath: { path: '/srv' } };
  const claim = (change: Partial<ClaimData>) => (claims: MemoryClaims) => claims.bind('c', 'pv-1', hostPath, change);
  const volume =
    (spec: PersistentVolumeData['spec'], metadata: object = {}) =>
    (claims: MemoryClaims) => {
      claims.bind('c', 'pv-1', { ...hostPath, ...spec });
      claims.volumes.set('pv-1', { ...claims.volumes.get('pv-1'), metadata: { name: 'pv-1', ...metadata } });
    };
  const meta = { name: 'c', namespace: 'default', uid: 'uid-c' };
  const processing = 'error processing PVC default/c:';
  const required = (key: string) => ({
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: ['n1'] }] }] },
  });
  it.each<[string, (claims: MemoryClaims) => void, string]>([
    [
      'does not exist',
      () => {},
      `${processing} failed to fetch PVC from API server: persistentvolumeclaims "c" not found`,
    ],
    [
      'cannot be read',
      (claims) => Object.assign(claims, { failure: new Error('no relationship found') }),
      `${processing} failed to fetch PVC from API server: no relationship found`,
    ],
    ['is not bound', claim({ status: { phase: 'Pending' } }), `${processing} PVC is not bound`],
    ['is lost', claim({ status: { phase: 'Lost' } }), `${processing} PVC is not bound`],
    ['has no volumeName', claim({ spec: {} }), `${processing} PVC has empty pvc.Spec.VolumeName`],
    [
      'is being deleted and has no pvc-protection finalizer',
      claim({ metadata: { ...meta, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['other'] } }),
      `${processing} PVC is being deleted`,
    ],
    [
      'names a PersistentVolume that does not exist',
      claim({ spec: { volumeName: 'pv-2' } }),
      `${processing} failed to fetch PV pv-2 from API server: persistentvolumes "pv-2" not found`,
    ],
    [
      'names a PersistentVolume that is bound to no PVC',
      volume({ claimRef: undefined } as object),
      `${processing} found PV object pv-1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    ],
    [
      'names a PersistentVolume that is bound to another PVC',
      volume({ claimRef: { uid: 'uid-other' } }),
      `${processing} found PV object pv-1 but its pv.Spec.ClaimRef.UID uid-other does not point to claim.UID uid-c`,
    ],
    [
      'has a PersistentVolume without volumeMode',
      volume({ volumeMode: undefined } as object),
      'cannot get volumeMode for volume: pv-1',
    ],
    [
      'is a block device but used in volumeMounts',
      volume({ volumeMode: 'Block' }),
      'volume data has volumeMode Block, but is specified in volumeMounts',
    ],
    [
      'has a PersistentVolume of an unsupported type',
      (claims) => claims.bind('c', 'pv-1', { csi: { driver: 'd', volumeHandle: 'h' }, capacity: { storage: '1Gi' } }),
      'failed to get Plugin from volumeSpec for volume "pv-1" err=type csi is not supported by this kubelet',
    ],
  ])(
    "the pod's mount error names a PVC that %s, and the pod's other volumes are set up",
    async (_why, given, message) => {
      const { claims, manager, signal, under, events, clock } = make();
      given(claims);
      const pod = podOf([claimed('c'), { name: 'scratch', emptyDir: {} }]);
      const error = await errorOf(manager.waitForAttachAndMount(pod, signal));
      expect(error.message).toBe(
        `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: ${message}`,
      );
      // No event was sent for the volume itself, so the pod's event is the first one.
      expect([error.isReported, events, error.retryAtMs]).toEqual([false, [], clock.monotonic() + 500]);
      expect(under('u1')).toContain(`${EMPTY_DIRS}/scratch`);
    },
  );

  it.each<[string, (claims: MemoryClaims) => void, string]>([
    [
      'is available only on another node',
      volume({ nodeAffinity: required('kubernetes.io/hostname') }),
      'MountVolume.NodeAffinity check failed for volume "pv-1" : no matching NodeSelectorTerms',
    ],
    [
      'has mount options although its volume type is not mounted',
      volume({ mountOptions: ['noexec'] }),
      'MountVolume.MountOptionSupport check failed for volume "pv-1" : mount options are not supported for this volume type',
    ],
  ])('each attempt to mount a PVC that %s emits a FailedMount event', async (_why, given, message) => {
    const { claims, manager, signal, events, clock } = make();
    given(claims);
    const error = await errorOf(manager.waitForAttachAndMount(podOf([claimed('c')]), signal));
    expect(error).toMatchObject({
      message: `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: ${message}`,
      isReported: true,
      retryAtMs: clock.monotonic() + 500,
    });
    await errorOf(manager.waitForAttachAndMount(podOf([claimed('c')]), signal));
    expect(events).toEqual([`FailedMount: ${message}`]);
    await clock.advance(500);
    await errorOf(manager.waitForAttachAndMount(podOf([claimed('c')]), signal));
    expect(events).toHaveLength(2);
  });

  it("retries mount a PVC after it was bound and its PersistentVolume's node affinity selects the node", async () => {
    const { claims, manager, signal, clock } = make();
    claims.bind('c', 'pv-1', { ...hostPath, nodeAffinity: required('zone') }, { status: { phase: 'Pending' } });
    await errorOf(manager.waitForAttachAndMount(podOf([claimed('c')]), signal));
    claims.bind('c', 'pv-1', { ...hostPath, nodeAffinity: required('zone') });
    await clock.advance(500);
    await errorOf(manager.waitForAttachAndMount(podOf([claimed('c')]), signal));
    claims.labels = { zone: 'n1' };
    await clock.advance(1000);
    await manager.waitForAttachAndMount(podOf([claimed('c')]), signal);
  });

  it('a PVC that is bound after minutes is mounted within 10 s', async () => {
    const { claims, manager, signal, clock } = make();
    claims.bind('c', 'pv-1', hostPath, { status: { phase: 'Pending' } });
    for (const endMs = clock.monotonic() + 300_000; clock.monotonic() < endMs; ) {
      const { retryAtMs = 0 } = await errorOf(manager.waitForAttachAndMount(podOf([claimed('c')]), signal));
      await clock.advance(retryAtMs - clock.monotonic());
    }
    const error = await errorOf(manager.waitForAttachAndMount(podOf([claimed('c')]), signal));
    expect((error.retryAtMs ?? 0) - clock.monotonic()).toBe(10_000);
    claims.bind('c', 'pv-1', hostPath);
    await clock.advance(10_000);
    await manager.waitForAttachAndMount(podOf([claimed('c')]), signal);
  });

  it('a PVC with a deletionTimestamp is still mounted while it has the pvc-protection finalizer', async () => {
    const { claims, manager, signal } = make();
    const finalizers = ['kubernetes.io/pvc-protection'];
    claim({ metadata: { ...meta, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers } })(claims);
    await manager.waitForAttachAndMount(podOf([claimed('c')]), signal);
  });

  it('C7: a PVC request that hangs delays its pod for at most 123 s, and delays no other volume', async () => {
    const { claims, manager, signal, clock, under } = make();
    claims.getClaim = () => new Promise(() => {});
    const pod = podOf([claimed('c'), { name: 'scratch', emptyDir: {} }]);
    const waiting = errorOf(manager.waitForAttachAndMount(pod, signal));
    await clock.settle();
    expect(under('u1')).toContain(`${EMPTY_DIRS}/scratch`);
    await clock.advance(123_000);
    expect((await waiting).message).toBe(
      'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: context deadline exceeded',
    );
  });
});

describe('the PVC of a generic ephemeral volume', () => {
  const ephemeral = { name: 'data', ephemeral: { volumeClaimTemplate: { spec: {} } } };
  it('the PVC of a generic ephemeral volume is named after pod and volume, and is refused if the pod does not own it', async () => {
    const { claims, manager, signal, clock } = make();
    const owners = (uid: string, controller = true) => ({
      metadata: {
        name: 'pod-u1-data',
        namespace: 'default',
        uid: 'uid-pod-u1-data',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'pod-u1', uid, controller }],
      },
    });
    const message = 'PVC default/pod-u1-data was not created for pod default/pod-u1 (pod is not owner)';
    for (const [index, change] of [owners('u0'), owners('u1', false), {}].entries()) {
      claims.bind('pod-u1-data', 'pv-1', { hostPath: { path: '/srv' } }, change);
      expect((await errorOf(manager.waitForAttachAndMount(podOf([ephemeral]), signal))).message).toBe(
        `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: ${message}`,
      );
      await clock.advance(500 * 2 ** index);
    }
    claims.bind('pod-u1-data', 'pv-1', { hostPath: { path: '/srv' } }, owners('u1'));
    await manager.waitForAttachAndMount(podOf([ephemeral]), signal);
    expect(manager.volumePath(podOf([]), 'data')).toBe('/srv');
  });
});

it("a pod with PVCs is supported only if the volume manager has a component that reads PVCs; otherwise the pod's volumes are reported as unsupported", () => {
  const pod = podOf([claimed('c'), { name: 'own', ephemeral: { volumeClaimTemplate: { spec: {} } } }]);
  expect(make().manager.unsupported(pod)).toEqual([]);
  expect(setUp().manager.unsupported(pod)).toEqual([
    'volume data: type persistentVolumeClaim is not supported by this kubelet',
    'volume own: type ephemeral is not supported by this kubelet',
  ]);
});

it('a PersistentVolume may have the name of another volume of its pod: each container mount gets its own host path', async () => {
  const { claims, manager, signal } = make();
  claims.bind('c', 'own', { hostPath: { path: '/srv/claimed' } });
  const pod = podOf([
    { name: 'own', hostPath: { path: '/srv/own' } },
    claimed('c'),
    { ...claimed('c', true), name: 'read' },
  ]);
  await manager.waitForAttachAndMount(pod, signal);
  const [container] = pod.spec.containers;
  const mounts = (container && (await manager.containerMounts(pod, container, [], signal))) ?? [];
  expect(mounts.map(({ hostPath, readOnly }) => [hostPath, readOnly])).toEqual([
    ['/srv/own', false],
    ['/srv/claimed', false],
    ['/srv/claimed', true],
  ]);
});

it("after the volumes are ready, the extra supplemental groups of a pod are the groups of its PersistentVolumes, without duplicates and without the pod's own groups", async () => {
  const { claims, manager, signal } = make();
  for (const [name, gid] of Object.entries({ a: '7', b: '7', c: '8', d: 'none', e: '99999999999999999999', f: '9' })) {
    claims.bind(name, name, { hostPath: { path: `/srv/${name}` } });
    const metadata = { name, annotations: { 'pv.beta.kubernetes.io/gid': gid } };
    claims.volumes.set(name, { ...claims.volumes.get(name), metadata });
  }
  const volumes = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ ...claimed(name), name }));
  const pod = podOf([...volumes, { name: 'own', emptyDir: {} }], 'u1', {
    securityContext: { supplementalGroups: [8] },
  });
  expect(manager.extraSupplementalGroups(pod)).toEqual([]);
  await manager.waitForAttachAndMount(pod, signal);
  expect(manager.extraSupplementalGroups(pod)).toEqual([7, 9]);
});
