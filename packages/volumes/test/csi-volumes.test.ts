import { describe, expect, it } from 'vitest';
import { claimPod, DRIVER, inlinePod, makeCsi, STAGED, text } from './csi-helpers.ts';
import { errorOf, ROOT } from './helpers.ts';

const IN_POD = `${ROOT}/pods/u1/volumes/kubernetes.io~csi`;

describe('a persistent CSI volume', () => {
  it("a persistent CSI volume is staged once and published to each pod at upstream's paths, and unstaged after the last pod", async () => {
    const { clock, fs, manager, driver, mounter, under, signal } = makeCsi();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await manager.waitForAttachAndMount(claimPod('u2'), signal);
    expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1', 'publish vol-1']);
    expect([...(await mounter.mountPoints()).keys()].sort()).toEqual(
      [
        `${STAGED}/globalmount`,
        ...['u1', 'u2'].map((uid) => `${ROOT}/pods/${uid}/volumes/kubernetes.io~csi/pv-1/mount`),
      ].sort(),
    );
    expect(driver.stages).toEqual([
      {
        volumeId: 'vol-1',
        publishContext: {},
        stagingTargetPath: `${STAGED}/globalmount`,
        secrets: {},
        capability: { access: { type: 'mount', fsType: 'ext4', mountFlags: [] }, accessMode: 'SINGLE_NODE_WRITER' },
        volumeContext: {},
      },
    ]);
    expect(driver.publishes[0]).toEqual({
      ...driver.stages[0],
      targetPath: `${IN_POD}/pv-1/mount`,
      readOnly: false,
    });
    const pod = claimPod('u1');
    const [container] = pod.spec.containers;
    const mounts = container && (await manager.containerMounts(pod, container, [], signal));
    expect(mounts).toMatchObject([{ hostPath: `${IN_POD}/pv-1/mount`, containerPath: '/mnt/data', readOnly: false }]);
    await manager.waitForUnmount(claimPod('u1'), signal);
    expect(driver.calls.slice(3)).toEqual(['unpublish vol-1']);
    await manager.waitForUnmount(claimPod('u2'), signal);
    await clock.settle();
    expect(driver.calls.slice(4)).toEqual(['unpublish vol-1', 'unstage vol-1']);
    expect([under('u1').filter((path) => path.includes('pv-1')), await fs.exists(STAGED)]).toEqual([[], false]);
    expect(driver.faults).toEqual([]);
  });

  it("the data files of a CSI volume are the same as upstream's kubelet writes, byte for byte", async () => {
    const { fs, manager, signal } = makeCsi();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect(await text(fs, `${STAGED}/vol_data.json`)).toBe(`{"driverName":"${DRIVER}","volumeHandle":"vol-1"}\n`);
    expect(await text(fs, `${IN_POD}/pv-1/vol_data.json`)).toBe(
      `{"attachmentID":"csi-f4c24cb450d8bb50ed94a9fe7498f9ee73f8350b12e34a249e60cba8d4711a1a","driverName":"${DRIVER}",` +
        '"nodeName":"node-1","specVolID":"pv-1","volumeHandle":"vol-1","volumeLifecycleMode":"Persistent"}\n',
    );
    const modes = await Promise.all(
      [STAGED, `${STAGED}/vol_data.json`, `${IN_POD}/pv-1`].map(async (path) => (await fs.stat(path)).mode),
    );
    expect(modes).toEqual([0o750, 0o644, 0o750]);
  });

  it('a CSI volume is not staged if its driver has no staging, and no node-level file is written', async () => {
    const { fs, manager, driver, signal } = makeCsi();
    driver.can = { ...driver.can, stageUnstage: false };
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect(driver.publishes[0]).not.toHaveProperty('stagingTargetPath');
    await manager.waitForUnmount(claimPod('u1'), signal);
    expect(driver.calls).toEqual(['publish vol-1', 'unpublish vol-1']);
    expect(await fs.exists(`${ROOT}/plugins`)).toBe(false);
  });

  it('a CSI driver gets secrets, attributes, mount options, access mode and read-only flag from the PersistentVolume', async () => {
    const { api, manager, driver, signal } = makeCsi(
      {
        volumeAttributes: { size: 'big' },
        nodeStageSecretRef: { namespace: 'kube-system', name: 'stage' },
        nodePublishSecretRef: { namespace: 'kube-system', name: 'publish' },
      },
      { mountOptions: ['noatime'], accessModes: ['ReadWriteMany', 'ReadWriteOnce'] },
    );
    api.secrets.set('kube-system/stage', { data: { key: Buffer.from('s1').toString('base64') } });
    api.secrets.set('kube-system/publish', { data: { key: Buffer.from('s2').toString('base64') } });
    await manager.waitForAttachAndMount(claimPod('u1', {}, true), signal);
    const capability = {
      access: { type: 'mount', fsType: 'ext4', mountFlags: ['noatime'] },
      accessMode: 'MULTI_NODE_MULTI_WRITER',
    };
    expect(driver.stages[0]).toMatchObject({ capability, secrets: { key: 's1' }, volumeContext: { size: 'big' } });
    expect(driver.publishes[0]).toMatchObject({
      ...{ capability, secrets: { key: 's2' }, volumeContext: { size: 'big' } },
      readOnly: true,
    });
  });

  it('a CSI volume is not staged and its driver is not called while a secret is missing or not text', async () => {
    const { api, manager, driver, events, clock, signal } = makeCsi({
      nodeStageSecretRef: { namespace: 'kube-system', name: 'stage' },
    });
    const error = await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    expect(error.message).toContain(
      'fetching NodeStageSecretRef kube-system/stage failed: kubernetes.io/csi: failed to',
    );
    expect(events).toEqual([
      expect.stringContaining('FailedMount: MountVolume.MountDevice failed for volume "pv-1" : fetching'),
    ]);
    api.secrets.set('kube-system/stage', { data: { key: '//8=' } });
    await clock.advance(500);
    expect((await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal))).message).toContain(
      'value of "key" must be UTF-8',
    );
    expect(driver.calls).toEqual([]);
  });

  it('a CSI driver with podInfoOnMount gets the pod that uses the volume', async () => {
    const { manager, driver, signal } = makeCsi(
      { volumeAttributes: { size: 'big' } },
      {},
      { attachRequired: false, podInfoOnMount: true },
    );
    await manager.waitForAttachAndMount(claimPod('u1', { serviceAccountName: 'robot' }), signal);
    expect(driver.publishes[0]?.volumeContext).toEqual({
      size: 'big',
      'csi.storage.k8s.io/pod.name': 'pod-u1',
      'csi.storage.k8s.io/pod.namespace': 'default',
      'csi.storage.k8s.io/pod.uid': 'u1',
      'csi.storage.k8s.io/serviceAccount.name': 'robot',
      'csi.storage.k8s.io/ephemeral': 'false',
    });
    expect(driver.stages[0]?.volumeContext).toEqual({ size: 'big' });
  });

  it.each([true, false])(
    'a CSI driver gets the requested service account tokens as secrets if serviceAccountTokenInSecrets is true (here: %s), else as attributes',
    async (serviceAccountTokenInSecrets) => {
      const tokenRequests = [{ audience: 'b', expirationSeconds: 600 }, { audience: '' }];
      const { api, manager, driver, signal } = makeCsi(
        {},
        {},
        { attachRequired: false, tokenRequests, serviceAccountTokenInSecrets },
      );
      await manager.waitForAttachAndMount(claimPod('u1'), signal);
      const tokens = {
        'csi.storage.k8s.io/serviceAccount.tokens':
          '{"":{"token":"token for ","expirationTimestamp":"2030-01-02T03:04:05Z"},' +
          '"b":{"token":"token for b","expirationTimestamp":"2030-01-02T03:04:05Z"}}',
      };
      const { secrets, volumeContext } = driver.publishes[0] ?? {};
      expect(serviceAccountTokenInSecrets ? [secrets, volumeContext] : [volumeContext, secrets]).toEqual([tokens, {}]);
      expect(api.asked).toEqual(['token pod-u1 b 600', 'token pod-u1  undefined']);
    },
  );

  it('a CSI volume is published again at a later sync only if the driver requires republishing, and stays ready if that fails', async () => {
    const { api, clock, manager, driver, events, mounter, signal } = makeCsi();
    const sync = async (): Promise<void> => {
      await clock.advance(60_000);
      await manager.waitForAttachAndMount(claimPod('u1'), signal);
      await clock.settle();
    };
    await sync();
    await sync();
    expect(driver.publishes.length).toBe(1);
    const known = api.drivers.get(DRIVER);
    if (known) api.drivers.set(DRIVER, { spec: { ...known.spec, requiresRepublish: true } });
    await sync();
    expect([driver.publishes.length, driver.stages.length]).toEqual([2, 1]);
    driver.before = () => {
      throw Object.assign(new Error('rpc error: code = Internal desc = no'), { code: 'INTERNAL', isFinal: true });
    };
    await sync();
    expect(events.at(-1)).toContain('MountVolume.SetUp failed for volume "pv-1" : rpc error: code = Internal');
    expect((await mounter.mountPoints()).has(`${IN_POD}/pv-1/mount`)).toBe(true);
    driver.before = () => {};
    await clock.advance(500);
    expect(driver.publishes.length).toBe(3);
  });

  it.each<[string, string | undefined, boolean]>([
    ['ReadWriteOnceWithFSType', 'ReadWriteOnce', true],
    ['ReadWriteOnceWithFSType', 'ReadWriteMany', false],
    ['File', 'ReadWriteMany', true],
    ['None', 'ReadWriteOnce', false],
  ])(
    "with fsGroupPolicy %s and access mode %s, the group of a CSI volume's files is changed to the fsGroup: %s",
    async (fsGroupPolicy, mode, isGiven) => {
      const { fs, manager, signal } = makeCsi({}, { accessModes: [mode] }, { attachRequired: false, fsGroupPolicy });
      const given: string[] = [];
      fs.giveToGroup = async (path, gid) => {
        given.push(`${path} ${gid}`);
        return { entries: 1, failed: 0, failure: '' };
      };
      await manager.waitForAttachAndMount(claimPod('u1', { securityContext: { fsGroup: 7 } }), signal);
      expect(given).toEqual(isGiven ? [`${IN_POD}/pv-1/mount 7`] : []);
    },
  );

  it('a CSI driver that can set the fsGroup gets it, and the kubelet does not change the files', async () => {
    const { fs, manager, driver, signal } = makeCsi();
    driver.can = { ...driver.can, volumeMountGroup: true };
    fs.giveToGroup = () => Promise.reject(new Error('must not be called'));
    await manager.waitForAttachAndMount(claimPod('u1', { securityContext: { fsGroup: 7 } }), signal);
    for (const request of [driver.stages[0], driver.publishes[0]]) {
      expect(request?.capability.access).toMatchObject({ volumeMountGroup: '7' });
    }
  });

  it('V5: a CSI volume whose files cannot get the fsGroup is not ready, and is published again later', async () => {
    const { clock, fs, manager, driver, events, signal } = makeCsi();
    const { giveToGroup } = fs;
    fs.giveToGroup = () => Promise.reject(new Error('EIO'));
    const pod = claimPod('u1', { securityContext: { fsGroup: 7 } });
    await errorOf(manager.waitForAttachAndMount(pod, signal));
    expect(events.at(-1)).toBe(
      'FailedMount: MountVolume.SetUp failed for volume "pv-1" : applyFSGroup failed for vol vol-1: EIO',
    );
    fs.giveToGroup = giveToGroup;
    await clock.advance(500);
    await manager.waitForAttachAndMount(pod, signal);
    expect([driver.publishes.length, (await fs.stat(`${IN_POD}/pv-1/mount`)).gid]).toEqual([2, 7]);
  });

  it.each([
    ['supports', true],
    ['does not support', false],
  ])(
    'the runtime relabels a CSI volume whose file system %s SELinux labels: $1, despite seLinuxChangePolicy and seLinuxMount',
    async (_what, takesLabels) => {
      const { manager, driver, signal, mounter } = makeCsi({}, {}, { attachRequired: false, seLinuxMount: true });
      mounter.labelled = (path) => takesLabels && path === `${IN_POD}/pv-1/mount`;
      const securityContext = { seLinuxChangePolicy: 'MountOption', seLinuxOptions: { level: 's0:c1,c2' } };
      const pod = claimPod('u1', { securityContext });
      await manager.waitForAttachAndMount(pod, signal);
      const [container] = pod.spec.containers;
      expect(driver.stages[0]?.capability.access).toMatchObject({ mountFlags: [] });
      expect(container && (await manager.containerMounts(pod, container, [], signal))).toMatchObject([
        { selinuxRelabel: takesLabels },
      ]);
    },
  );

  it('a second pod for a ReadWriteOncePod CSI volume is refused', async () => {
    const { manager, signal } = makeCsi({}, { accessModes: ['ReadWriteOncePod'] });
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect((await errorOf(manager.waitForAttachAndMount(claimPod('u2'), signal))).message).toContain(
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
  });
});

describe('an inline CSI volume', () => {
  it('an inline CSI volume is published under a volume ID of its own, without attachment and staging', async () => {
    const { api, fs, manager, driver, signal, under } = makeCsi({}, {}, { podInfoOnMount: true });
    api.secrets.set('default/s', { data: { key: Buffer.from('s').toString('base64') } });
    const csi = { fsType: 'xfs', readOnly: true, volumeAttributes: { a: 'b' }, nodePublishSecretRef: { name: 's' } };
    await manager.waitForAttachAndMount(inlinePod('u1', csi), signal);
    const handle = 'csi-394e2f1c7e9d97fca241351d1f3fe5e473d332141cbc3a61861a8e3a8a0caf84';
    expect(driver.publishes).toEqual([
      {
        ...{ volumeId: handle, publishContext: {}, targetPath: `${IN_POD}/data/mount`, readOnly: true },
        secrets: { key: 's' },
        capability: { access: { type: 'mount', fsType: 'xfs', mountFlags: [] }, accessMode: 'SINGLE_NODE_WRITER' },
        volumeContext: expect.objectContaining({ a: 'b', 'csi.storage.k8s.io/ephemeral': 'true' }),
      },
    ]);
    expect(JSON.parse(await text(fs, `${IN_POD}/data/vol_data.json`))).toMatchObject({
      ...{ specVolID: 'data', volumeHandle: handle, volumeLifecycleMode: 'Ephemeral' },
    });
    expect(manager.volumesInUse()).toBeUndefined();
    await manager.waitForUnmount(inlinePod('u1', csi), signal);
    expect([driver.calls, under('u1').filter((path) => path.includes('data'))]).toEqual([
      [`publish ${handle}`, `unpublish ${handle}`],
      [],
    ]);
  });

  it.each<[string, Record<string, unknown> | undefined, string]>([
    ['supports only persistent volumes', { volumeLifecycleModes: ['Persistent'] }, '(only supports ["Persistent"])'],
    ['is missing', undefined, '(no CSIDriver object)'],
  ])('an inline CSI volume is refused if the CSIDriver object of its driver %s', async (_what, csiDriver, why) => {
    const { api, manager, driver, signal } = makeCsi({}, {}, csiDriver ?? {});
    if (csiDriver === undefined) api.drivers.clear();
    const error = await errorOf(manager.waitForAttachAndMount(inlinePod('u1'), signal));
    expect(error.message).toContain(`volume mode "Ephemeral" not supported by driver ${DRIVER} ${why}`);
    expect(driver.calls).toEqual([]);
  });
});
