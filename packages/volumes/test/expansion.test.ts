import { describe, expect, it } from 'vitest';
import type { ClaimData } from '../src/claims/claim-source.ts';
import { type ExpansionStep, failedPatch, finishedPatch, nextExpansion } from '../src/expand/expansion-rule.ts';
import { growCommand } from '../src/mount/disk-format.ts';
import { blockPod, type CsiFixture, claimPod, csiFailure, DRIVER, makeCsi, STAGED } from './csi-helpers.ts';
import { errorOf, ROOT } from './helpers.ts';

const IN_POD = `${ROOT}/pods/u1/volumes/kubernetes.io~csi/pv-1`;
const GIB = 2n ** 30n;

/** Returns a PVC whose volume a controller has expanded from 1 GiB to 2 GiB. */
const claimOf = (status: ClaimData['status'], more: Partial<ClaimData> = {}): ClaimData => ({
  metadata: { name: 'c', namespace: 'default', uid: 'uid-c', resourceVersion: '7' },
  spec: { volumeName: 'pv-1', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
  ...more,
  status: { phase: 'Bound', capacity: { storage: '1Gi' }, ...status },
});
const pending = { allocatedResources: { storage: '2Gi' }, allocatedResourceStatuses: { storage: 'NodeResizePending' } };
const persistent = { metadata: { name: 'pv-1' }, spec: { capacity: { storage: '2Gi' } } };
const many = { spec: { accessModes: ['ReadWriteMany'] } };

describe('nextExpansion', () => {
  const expand = { step: 'expand', size: '2Gi', updatesClaim: true, isFollowed: true, endsOnFailure: false } as const;
  it.each<[string, ClaimData, { size?: string; hasFailed?: boolean }, ExpansionStep]>([
    ['the controller waits for the node', claimOf(pending), {}, expand],
    [
      'the node has begun',
      claimOf({ ...pending, allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } }),
      {},
      expand,
    ],
    [
      'the size is impossible',
      claimOf({ ...pending, allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } }),
      {},
      { step: 'none' },
    ],
    [
      'the controller is still expanding',
      claimOf({ ...pending, allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' } }),
      {},
      { step: 'none' },
    ],
    ['an older controller does not follow it', claimOf({}), {}, { ...expand, isFollowed: false }],
    ['the PVC has the size', claimOf({ capacity: { storage: '2Gi' } }), {}, { step: 'none' }],
    ['the node has the size', claimOf(pending), { size: '2Gi' }, { step: 'none' }],
    [
      'another node has expanded a shared volume',
      claimOf({ capacity: { storage: '2Gi' }, allocatedResources: {} }, many),
      { size: '1Gi' },
      { ...expand, updatesClaim: false },
    ],
    [
      'the PVC now requests another size after a failure',
      claimOf(pending, { spec: { resources: { requests: { storage: '3Gi' } } } }),
      { hasFailed: true },
      { ...expand, endsOnFailure: true },
    ],
    ['the capacity is unknown', { ...claimOf({}), status: {} }, {}, { step: 'none' }],
  ])('if %s, the next step of a volume expansion is $3', (_what, claim, node, expected) => {
    expect(nextExpansion(claim, persistent, false, { size: node.size, hasFailed: node.hasFailed ?? false })).toEqual(
      expected,
    );
  });

  it('nextExpansion expands neither a shared volume whose driver needs no node expansion, nor a read-only volume', () => {
    const annotations = { 'volume.kubernetes.io/node-expansion-not-required': 'true' };
    const claim = claimOf(
      { capacity: { storage: '2Gi' }, allocatedResources: {} },
      { ...many, metadata: { annotations } },
    );
    expect(nextExpansion(claim, persistent, false, { size: '1Gi', hasFailed: false })).toEqual({ step: 'none' });
    expect(nextExpansion(claimOf(pending), persistent, true, { hasFailed: false })).toEqual({ step: 'readOnly' });
  });
});

it('patches of a PVC keep conditions and resize statuses of other owners', () => {
  const conditionOf = (type: string) => ({ type, status: 'True' });
  const conditions = ['FileSystemResizePending', 'Resizing', 'Foreign'].map(conditionOf);
  const claim = claimOf({ conditions, allocatedResourceStatuses: { storage: 'NodeResizePending', other: 'x' } });
  expect(finishedPatch(claim, '2Gi')).toEqual({
    metadata: { resourceVersion: '7' },
    status: { capacity: { storage: '2Gi' }, allocatedResourceStatuses: { storage: null }, conditions: [conditions[2]] },
  });
  expect(failedPatch(claim, 'no', true, 'now')).toEqual({
    metadata: { resourceVersion: '7' },
    status: {
      conditions: [
        ...conditions,
        { type: 'NodeResizeError', status: 'True', lastTransitionTime: 'now', message: 'failed to expand pvc with no' },
      ],
      allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
    },
  });
});

it('a repeated failure of an expansion keeps the condition NodeResizeError with the time and the message of the first failure', () => {
  const known = { type: 'NodeResizeError', status: 'True', lastTransitionTime: 'then', message: 'first' };
  const claim = claimOf({ conditions: [known, { type: 'Foreign', status: 'True' }] });
  expect(failedPatch(claim, 'no', false, 'now')).toBeUndefined();
  expect(failedPatch(claim, 'no', true, 'now')).toEqual({
    metadata: { resourceVersion: '7' },
    status: { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } },
  });
});

it.each([
  ['ext4', ['resize2fs', ['/dev/sdb']]],
  ['xfs', ['xfs_growfs', ['-d', '/mnt']]],
  ['btrfs', ['btrfs', ['filesystem', 'resize', 'max', '/mnt']]],
])('a file system of type %s is grown by the command %j', (format, command) => {
  expect(growCommand('/dev/sdb', '/mnt', format)).toEqual(command);
});

it('a file system of another type is not grown', () => {
  expect(() => growCommand('/dev/sdb', '/mnt', 'vfat')).toThrow('resize of format vfat is not supported');
});

/**
 * Creates a node with an expandable volume of 1 GiB, and the function `grow`, which expands the volume as the
 * controller does.
 */
function makeExpandable(spec: Record<string, unknown> = {}) {
  const fixture: CsiFixture = makeCsi({}, { capacity: { storage: '1Gi' }, ...spec });
  const { claims, driver } = fixture;
  driver.can = { ...driver.can, expandVolume: true };
  claims.acceptPatches();
  claims.claims.set('default/c', claimOf({}));
  const grow = (): void => {
    claims.claims.set('default/c', claimOf(pending));
    const volume = claims.volumes.get('pv-1');
    if (volume) claims.volumes.set('pv-1', { ...volume, spec: { ...volume.spec, capacity: { storage: '2Gi' } } });
  };
  return { ...fixture, grow };
}
const inProgress = {
  metadata: { resourceVersion: '7' },
  status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } },
};
const finished = {
  metadata: { resourceVersion: '7' },
  status: { capacity: { storage: '2Gi' }, allocatedResourceStatuses: null, conditions: [] },
};

describe('a CSI volume that a controller has expanded', () => {
  it('V5: a CSI volume that a controller has expanded is expanded on the node before its pod starts', async () => {
    const { manager, claims, driver, events, grow, signal } = makeExpandable();
    grow();
    await manager.waitForAttachAndMount(claimPod('u1', { nodeName: 'node-1' }), signal);
    expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1', 'expand vol-1']);
    expect(driver.expansions).toEqual(
      [
        {
          ...{ volumeId: 'vol-1', volumePath: `${IN_POD}/mount`, stagingTargetPath: `${STAGED}/globalmount` },
          ...{ requiredBytes: 2n * GIB, secrets: {} },
          capability: { access: { type: 'mount', fsType: 'ext4', mountFlags: [] }, accessMode: 'SINGLE_NODE_WRITER' },
        },
      ].map((request) => expect.objectContaining(request)),
    );
    expect(claims.patches).toEqual([inProgress, finished]);
    const success = 'FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv-1" node-1';
    expect(events).toEqual([success, success]);
  });

  it('a CSI volume that a controller has expanded is expanded once while its pod runs', async () => {
    const { manager, claims, driver, clock, grow, signal } = makeExpandable();
    const sync = async (): Promise<void> => {
      await clock.advance(60_000);
      await manager.waitForAttachAndMount(claimPod('u1'), signal);
      await clock.settle();
    };
    await sync();
    await sync();
    grow();
    for (let i = 0; i < 3; i++) await sync();
    expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1', 'expand vol-1']);
    expect(claims.patches).toEqual([inProgress, finished]);
  });

  it('V3: the node expands a CSI volume again if the new size could not be written to the PVC', async () => {
    const { manager, claims, driver, clock, grow, signal } = makeExpandable();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    grow();
    const { patchClaimStatus: write } = claims;
    let failures = 0;
    claims.patchClaimStatus = async (...args) => {
      if (driver.expansions.length === 1 && failures++ === 0) throw new Error('the server is away');
      return await (write?.(...args) ?? Promise.reject(new Error('no patches')));
    };
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.advance(1000);
    expect(driver.expansions).toHaveLength(2);
    expect(claims.patches.at(-1)).toEqual(finished);
  });

  it('V2: a CSI volume is not expanded while another call for its pod is in progress, and not after its pod has gone', async () => {
    const { manager, driver, clock, grow, signal } = makeExpandable();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    grow();
    const answer = Promise.withResolvers<void>();
    driver.before = (call) => (call === 'expand vol-1' ? answer.promise : undefined);
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    const unmounting = manager.waitForUnmount(claimPod('u1'), signal);
    await clock.advance(10_000);
    expect(driver.calls.at(-1)).toBe('expand vol-1');
    expect(manager.volumeWaits('u1')[0]?.what).toBe(`NodeExpandVolume of driver ${DRIVER} has not answered for 10 s`);
    answer.resolve();
    await unmounting;
    await clock.settle();
    expect([driver.calls.slice(-2), driver.faults]).toEqual([['unpublish vol-1', 'unstage vol-1'], []]);
  });

  it('V2: a CSI volume that two pods share is expanded once', async () => {
    const { manager, driver, grow, signal } = makeExpandable();
    grow();
    await Promise.all(['u1', 'u2'].map((uid) => manager.waitForAttachAndMount(claimPod(uid), signal)));
    expect(driver.expansions).toHaveLength(1);
  });

  it.each<[string, boolean, string]>([
    ['INTERNAL', false, ' :'],
    ['FAILED_PRECONDITION', false, ' :'],
    ['OUT_OF_RANGE', true, ''],
    ['INVALID_ARGUMENT', true, ''],
    ['NOT_FOUND', true, ''],
  ])(
    "after the final failure %s in a running pod, the PVC has the reason in the Go kubelet's words, and is marked as infeasible: %s",
    async (code, isInfeasible, colon) => {
      const { manager, claims, driver, clock, events, grow, signal } = makeExpandable();
      await manager.waitForAttachAndMount(claimPod('u1'), signal);
      grow();
      driver.before = (call) => {
        if (call === 'expand vol-1') throw csiFailure(code, true);
      };
      await clock.advance(60_000);
      await manager.waitForAttachAndMount(claimPod('u1'), signal);
      await clock.settle();
      const why = `Expander.NodeExpand failed to expand the volume${colon} rpc error: code = ${code} desc = broken`;
      // A driver that cannot expand a volume in use leaves the pod with the old size, without an event.
      const told = `VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-1" : ${why}`;
      expect(events).toEqual(code === 'FAILED_PRECONDITION' ? [] : [told]);
      expect(claims.claims.get('default/c')?.status).toMatchObject({
        conditions: [{ type: 'NodeResizeError', status: 'True', message: `failed to expand pvc with ${why}` }],
        allocatedResourceStatuses: { storage: isInfeasible ? 'NodeResizeInfeasible' : 'NodeResizeInProgress' },
      });
    },
  );

  it('the reason of a failed expansion is written to a PVC that changed while the driver was called', async () => {
    const { manager, claims, driver, clock, grow, signal } = makeExpandable();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    grow();
    const { patchClaimStatus: write } = claims;
    claims.patchClaimStatus = async (namespace, name, patch, ...more) => {
      const known = claims.claims.get(`${namespace}/${name}`)?.metadata.resourceVersion;
      const { metadata } = patch as { metadata: { resourceVersion?: string } };
      if (metadata.resourceVersion !== known) throw new Error('the object has been modified');
      return await (write?.(namespace, name, patch, ...more) ?? Promise.reject(new Error('no patches')));
    };
    driver.before = (call) => {
      if (call !== 'expand vol-1') return;
      const claim = claims.claims.get('default/c');
      const conditions = [{ type: 'Foreign', status: 'True' }];
      if (claim === undefined) throw new Error('no PVC');
      const metadata = { ...claim.metadata, resourceVersion: '8' };
      claims.claims.set('default/c', { ...claim, metadata, status: { ...claim.status, conditions } });
      throw csiFailure('FAILED_PRECONDITION', true);
    };
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    expect(claims.claims.get('default/c')?.status?.conditions).toMatchObject([
      { type: 'Foreign' },
      { type: 'NodeResizeError' },
    ]);
  });

  it('the condition NodeResizeError of a PVC is written once, although the expansion is retried', async () => {
    const { manager, claims, driver, clock, grow, signal } = makeExpandable();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    grow();
    driver.before = (call) => {
      if (call === 'expand vol-1') throw csiFailure('INTERNAL', true);
    };
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.advance(4000);
    expect(driver.calls.filter((call) => call === 'expand vol-1')).toHaveLength(4);
    expect(claims.patches.filter((patch) => JSON.stringify(patch).includes('NodeResizeError'))).toHaveLength(1);
  });

  it('V5: a CSI volume that cannot be expanded before its pod starts keeps the pod waiting', async () => {
    const { manager, driver, events, clock, grow, signal } = makeExpandable();
    grow();
    driver.before = (call) => {
      if (call === 'expand vol-1') throw csiFailure('INTERNAL', true);
    };
    await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    expect(events.at(-1)).toMatch(
      /^FailedMount: MountVolume\.Setup failed while expanding volume for volume "pv-1" : Expander/,
    );
    driver.before = () => {};
    await clock.advance(500);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect(driver.expansions).toHaveLength(1);
  });

  it('a pod uses a CSI volume with its old size if the driver cannot expand a volume in use, or does not expand volumes', async () => {
    const { manager, driver, clock, grow, signal } = makeExpandable();
    grow();
    driver.before = (call) => {
      if (call === 'expand vol-1') throw csiFailure('FAILED_PRECONDITION', true);
    };
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    expect(driver.calls.filter((call) => call === 'expand vol-1')).toHaveLength(1);
    const other = makeExpandable();
    other.driver.can = { ...other.driver.can, expandVolume: false };
    other.grow();
    other.claims.claims.set('default/c', claimOf({}));
    await other.manager.waitForAttachAndMount(claimPod('u1'), other.signal);
    expect(other.driver.calls).toEqual(['stage vol-1', 'publish vol-1']);
  });

  it('a PVC whose nodeExpandSecretRef names a missing secret has the reason, and is expanded once the secret exists', async () => {
    const { manager, claims, driver, api, clock, events, grow, signal } = makeExpandable({
      csi: { driver: DRIVER, volumeHandle: 'vol-1', nodeExpandSecretRef: { namespace: 'kube-system', name: 'grow' } },
    });
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    grow();
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    const missing = 'failed to find the secret grow in the namespace kube-system with error: secrets "grow" not found';
    const why = `expander.NodeExpand failed to get NodeExpandSecretRef kube-system/grow: kubernetes.io/csi: ${missing}`;
    expect(events).toEqual([`VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-1" : ${why}`]);
    expect(claims.claims.get('default/c')?.status).toMatchObject({
      conditions: [{ type: 'NodeResizeError', status: 'True', message: `failed to expand pvc with ${why}` }],
      allocatedResourceStatuses: { storage: 'NodeResizeInProgress' },
    });
    api.secrets.set('kube-system/grow', { data: { key: Buffer.from('s').toString('base64') } });
    await clock.advance(1000);
    expect(driver.expansions).toMatchObject([{ secrets: { key: 's' } }]);
    expect(claims.patches.at(-1)).toEqual(finished);
  });

  it('a driver whose capabilities cannot be read leaves the PVC unchanged, and the event names the step', async () => {
    const { manager, claims, driver, clock, events, grow, signal } = makeExpandable();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    grow();
    driver.before = (call) => {
      if (call === 'capabilities') throw csiFailure('UNAVAILABLE', false);
    };
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    const why = 'Expander.NodeExpand failed to check if node supports expansion : rpc error: code = UNAVAILABLE';
    expect(events.at(0)).toContain(why);
    expect(claims.claims.get('default/c')?.status).not.toHaveProperty('conditions');
  });

  it("a volume is expanded when its driver registers; the event before has the Go kubelet's words", async () => {
    const { manager, driver, registered, clock, events, grow, signal } = makeExpandable();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    grow();
    registered.delete(DRIVER);
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    const why = `driver name ${DRIVER} not found in the list of registered CSI drivers`;
    expect(events).toEqual([`VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-1" : ${why}`]);
    registered.set(DRIVER, driver);
    manager.csiDriverRegistered();
    await clock.settle();
    expect(driver.expansions).toHaveLength(1);
  });

  it('a driver without STAGE_UNSTAGE_VOLUME gets no staging path when a volume is expanded', async () => {
    for (const spec of [{}, { volumeMode: 'Block' }]) {
      const { manager, driver, grow, signal } = makeExpandable(spec);
      driver.can = { ...driver.can, stageUnstage: false };
      grow();
      const pod = 'volumeMode' in spec ? blockPod('u1') : claimPod('u1');
      await manager.waitForAttachAndMount(pod, signal);
      expect(driver.expansions).toHaveLength(1);
      expect(driver.expansions[0]).not.toHaveProperty('stagingTargetPath');
    }
  });

  it('a CSI block volume is expanded by the path of its device', async () => {
    const { manager, driver, grow, signal } = makeExpandable({ volumeMode: 'Block' });
    grow();
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    expect(driver.expansions).toMatchObject([
      {
        volumePath: `${ROOT}/plugins/kubernetes.io/csi/volumeDevices/publish/pv-1/u1`,
        stagingTargetPath: `${ROOT}/plugins/kubernetes.io/csi/volumeDevices/staging/pv-1`,
        capability: { access: { type: 'block' } },
      },
    ]);
  });
});
