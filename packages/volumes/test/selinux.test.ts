import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { accessModeOf, fileLabel, mountsWithLabel, volumeLabels } from '../src/selinux/label-rule.ts';
import { type CsiFixture, claimPod, csiFailure, DRIVER, makeCsi, STAGED, text } from './csi-helpers.ts';
import { errorOf, ROOT } from './helpers.ts';

const FILES = 'system_u:object_r:container_file_t:s0';
const labelOf = (level: string): string => `system_u:object_r:container_file_t:${level}`;

type Options = NonNullable<NonNullable<Pod['spec']['securityContext']>['seLinuxOptions']>;

/** A pod with the claim, whose containers have these SELinux options. */
function labelledPod(uid: string, seLinuxOptions: Options, ...others: readonly (Options | undefined)[]): Pod {
  const pod = claimPod(uid);
  const [container] = pod.spec.containers;
  const more = others.map((options, index) => ({
    ...{ ...container, name: `c${index}` },
    ...(options && { securityContext: { seLinuxOptions: options } }),
  }));
  const containers = [...pod.spec.containers, ...more];
  return { ...pod, spec: { ...pod.spec, securityContext: { seLinuxOptions }, containers } };
}

/** A node with SELinux, whose driver supports mounts with a label. */
function make(accessModes: string[] = ['ReadWriteOncePod'], allAccessModes = false, seLinuxMount = true): CsiFixture {
  const selinux = { fileContext: FILES, allAccessModes };
  return makeCsi(
    {},
    { accessModes, mountOptions: ['noatime'] },
    { attachRequired: false, seLinuxMount },
    {},
    { selinux },
  );
}

const flagsOf = ({ driver }: CsiFixture): unknown =>
  [...driver.stages, ...driver.publishes].map(
    ({ capability: { access } }) => 'mountFlags' in access && access.mountFlags,
  );

describe('the SELinux label of a volume', () => {
  it.each<[Options, string]>([
    [{ level: 's0:c1,c2' }, labelOf('s0:c1,c2')],
    [{ level: 's0:c1', user: 'u', role: 'r', type: 't' }, 'u:object_r:container_file_t:s0:c1'],
    // If the options have no level, the runtime chooses one.
    [{ type: 'spc_t' }, ''],
    [{}, ''],
  ])('the SELinux label of containers with the options %j is %j', (options, label) => {
    expect(fileLabel(options, FILES)).toBe(label);
  });

  it("the SELinux label of a volume is the label of the containers that mount it; a container's options replace the pod's options", () => {
    const pod = labelledPod('u1', { level: 's0:c1' }, { level: 's0:c2' }, undefined);
    expect(volumeLabels(pod, 'data', FILES)).toEqual([labelOf('s0:c1'), labelOf('s0:c2')]);
    expect(volumeLabels(pod, 'other', FILES)).toEqual([]);
  });

  it.each<[string[] | undefined, boolean, boolean, string]>([
    [['ReadWriteOncePod'], false, true, 'RWOP'],
    [['ReadWriteOncePod', 'ReadWriteOnce'], false, false, 'RWO'],
    [['ReadWriteMany', 'ReadWriteOnce'], true, true, 'RWX'],
    [['ReadOnlyMany'], false, false, 'ROX'],
    [undefined, true, false, 'inline'],
  ])(
    'the SELinux label is a mount option of a volume with access modes %j and the gate SELinuxMount %s: %s',
    (accessModes, gate, mounts, mode) => {
      const spec = {
        volume: { name: 'v' },
        ...(accessModes && { persistent: { metadata: {}, spec: { accessModes } } }),
      };
      expect([mountsWithLabel(spec, gate), accessModeOf(spec)]).toEqual([mounts, mode]);
    },
  );
});

describe('a CSI volume on a node with SELinux', () => {
  it('a CSI volume is mounted with the SELinux label of its pod, which both data files contain, and is not relabelled', async () => {
    const fixture = make();
    const { manager, mounter, fs, gauges, signal } = fixture;
    mounter.labelled = () => true;
    const pod = labelledPod('u1', { level: 's0:c1,c2' });
    await manager.waitForAttachAndMount(pod, signal);
    const flags = ['noatime', `context="${labelOf('s0:c1,c2')}"`];
    expect(flagsOf(fixture)).toEqual([flags, flags]);
    for (const directory of [STAGED, `${ROOT}/pods/u1/volumes/kubernetes.io~csi/pv-1`]) {
      const data = JSON.parse(await text(fs, `${directory}/vol_data.json`));
      expect(data.seLinuxMountContext).toBe(labelOf('s0:c1,c2'));
    }
    const [container] = pod.spec.containers;
    const mounts = container && (await manager.containerMounts(pod, container, [], signal));
    expect(mounts).toMatchObject([{ selinuxRelabel: false }]);
    expect(gauges.get(`volume_manager_selinux_volumes_admitted_total kubernetes.io/csi/${DRIVER} RWOP`)).toBe(1);
  });

  it.each<[string, CsiFixture, Partial<Pod['spec']>]>([
    ['whose driver has no seLinuxMount', make(['ReadWriteOncePod'], false, false), {}],
    ['with another access mode', make(['ReadWriteOnce']), {}],
    [
      'whose pod requests recursive relabelling',
      make(),
      { securityContext: { seLinuxOptions: { level: 's0:c1' }, seLinuxChangePolicy: 'Recursive' } },
    ],
  ])(
    'a CSI volume %s is mounted without an SELinux label, and the runtime relabels it',
    async (_what, fixture, spec) => {
      const { manager, mounter, signal } = fixture;
      mounter.labelled = () => true;
      const labelled = labelledPod('u1', { level: 's0:c1' });
      const pod = { ...labelled, spec: { ...labelled.spec, ...spec } };
      await manager.waitForAttachAndMount(pod, signal);
      expect(flagsOf(fixture)).toEqual([['noatime'], ['noatime']]);
      const [container] = pod.spec.containers;
      const mounts = container && (await manager.containerMounts(pod, container, [], signal));
      expect(mounts).toMatchObject([{ selinuxRelabel: true }]);
    },
  );

  it('a CSI volume is refused if the containers that mount it have different SELinux labels, and the message names the labels', async () => {
    const { manager, gauges, signal } = make();
    const pod = labelledPod('u1', { level: 's0:c1' }, { level: 's0:c2' });
    const error = await errorOf(manager.waitForAttachAndMount(pod, signal));
    expect(error.message).toContain(`multiple SELinux labels found: ${labelOf('s0:c1')},${labelOf('s0:c2')}`);
    expect(gauges.get('volume_manager_selinux_pod_context_mismatch_errors_total RWOP')).toBe(1);
  });

  it.each(['s0",suid,context="s0', 's0\ns0', 's0 c1'])(
    'a CSI volume is refused if its SELinux level is %j, which would change the mount options',
    async (level) => {
      const { manager, driver, signal } = make();
      const error = await errorOf(manager.waitForAttachAndMount(labelledPod('u1', { level }), signal));
      expect(error.message).toContain('must consist of letters, digits and .:,-_');
      expect(driver.calls).toEqual([]);
    },
  );

  it.each(['s0:c1,c2', 's0-s0:c0.c1023'])('a CSI volume is mounted with the SELinux level %s', async (level) => {
    const { manager, driver, signal } = make();
    await manager.waitForAttachAndMount(labelledPod('u1', { level }), signal);
    expect(driver.stages[0]?.capability.access).toMatchObject({
      mountFlags: ['noatime', `context="${labelOf(level)}"`],
    });
  });

  it('a CSI volume with another access mode than ReadWriteOncePod and with different labels is mounted without a label, and is counted', async () => {
    const { manager, gauges, signal } = make(['ReadWriteMany']);
    await manager.waitForAttachAndMount(labelledPod('u1', { level: 's0:c1' }, { level: 's0:c2' }), signal);
    expect(gauges.get('volume_manager_selinux_pod_context_mismatch_warnings_total RWX')).toBe(1);
  });

  it('a CSI volume is staged again with the SELinux label of the next pod after the pod with another label is gone', async () => {
    const fixture = make(['ReadWriteMany'], true);
    const { manager, driver, clock, gauges, signal } = fixture;
    await manager.waitForAttachAndMount(labelledPod('u1', { level: 's0:c1' }), signal);
    const refused = await errorOf(manager.waitForAttachAndMount(labelledPod('u2', { level: 's0:c2' }), signal));
    const labels = `"${labelOf('s0:c1')}" and "${labelOf('s0:c2')}"`;
    expect(refused.message).toContain(`conflicting SELinux labels of volume pv-1: ${labels}`);
    const mismatch = `volume_manager_selinux_volume_context_mismatch_errors_total kubernetes.io/csi/${DRIVER} RWX`;
    expect(gauges.get(mismatch)).toBe(1);
    await manager.waitForUnmount(labelledPod('u1', { level: 's0:c1' }), signal);
    await clock.advance(1_000);
    await manager.waitForAttachAndMount(labelledPod('u2', { level: 's0:c2' }), signal);
    expect(driver.calls).toEqual(
      ['stage', 'publish', 'unpublish', 'unstage', 'stage', 'publish'].map((c) => `${c} vol-1`),
    );
    expect(driver.stages[1]?.capability.access).toMatchObject({
      mountFlags: ['noatime', `context="${labelOf('s0:c2')}"`],
    });
    expect(driver.faults).toEqual([]);
  });

  it('a CSI volume is counted as admitted once, although its mount is retried and a second pod uses it', async () => {
    const fixture = make(['ReadWriteMany'], true);
    const { manager, driver, clock, gauges, signal } = fixture;
    driver.before = (call) => {
      if (call.startsWith('publish')) throw csiFailure('INTERNAL', true);
    };
    for (let i = 0; i < 3; i++) {
      await errorOf(manager.waitForAttachAndMount(labelledPod('u1', { level: 's0:c1' }), signal));
      await clock.advance(4_000);
    }
    driver.before = () => {};
    await clock.advance(10_000);
    for (const uid of ['u1', 'u2']) await manager.waitForAttachAndMount(labelledPod(uid, { level: 's0:c1' }), signal);
    const admitted = `volume_manager_selinux_volumes_admitted_total kubernetes.io/csi/${DRIVER} RWX`;
    expect(gauges.get(admitted)).toBe(1);
    for (const uid of ['u1', 'u2']) await manager.waitForUnmount(claimPod(uid), signal);
    await manager.waitForAttachAndMount(labelledPod('u3', { level: 's0:c1' }), signal);
    expect(gauges.get(admitted)).toBe(2);
  });

  it('a pod whose label differs from that of another pod with the same volume is counted once, although its mount is retried', async () => {
    const { manager, driver, clock, gauges, signal } = make(['ReadWriteMany']);
    await manager.waitForAttachAndMount(labelledPod('u1', { level: 's0:c1' }), signal);
    driver.before = (call) => {
      if (call.startsWith('publish')) throw csiFailure('INTERNAL', true);
    };
    for (let i = 0; i < 3; i++) {
      await errorOf(manager.waitForAttachAndMount(labelledPod('u2', { level: 's0:c2' }), signal));
      await clock.advance(4_000);
    }
    const mismatch = `volume_manager_selinux_volume_context_mismatch_warnings_total kubernetes.io/csi/${DRIVER} RWX`;
    expect(gauges.get(mismatch)).toBe(1);
  });

  it.each([
    ['', false],
    [', which an earlier kubelet process mounted', true],
  ])(
    'V4: a pod waits without an error while a CSI volume with another SELinux label is unmounted for a pod that has ended%s',
    async (_what, isRestarted) => {
      const fixture = make(['ReadWriteMany'], true);
      const { manager, newManager, driver, clock, gauges, events, signal } = fixture;
      await manager.waitForAttachAndMount(labelledPod('u1', { level: 's0:c1' }), signal);
      const answer = Promise.withResolvers<void>();
      driver.before = (call) => (call === 'unpublish vol-1' ? answer.promise : undefined);
      const life = new AbortController();
      const current = isRestarted ? newManager() : manager;
      const running = current.start(life.signal);
      await clock.settle();
      const unmounting = current.waitForUnmount(labelledPod('u1', { level: 's0:c1' }), signal);
      await clock.settle();
      const mounting = current.waitForAttachAndMount(labelledPod('u2', { level: 's0:c2' }), signal);
      await clock.advance(20_000);
      const what = 'waits until the volume, mounted with another SELinux label, is unmounted for a pod that has ended';
      expect(current.volumeWaits('u2')).toEqual([{ volume: 'data', what }]);
      expect(driver.calls).toEqual(['stage', 'publish', 'unpublish'].map((call) => `${call} vol-1`));
      answer.resolve();
      await Promise.all([unmounting, mounting]);
      expect(driver.calls.slice(2)).toEqual(['unpublish', 'unstage', 'stage', 'publish'].map((c) => `${c} vol-1`));
      const flags = [...driver.stages, ...driver.publishes].map(({ capability: { access } }) =>
        'mountFlags' in access ? access.mountFlags.at(-1) : '',
      );
      expect(flags).toEqual(['s0:c1', 's0:c2', 's0:c1', 's0:c2'].map((level) => `context="${labelOf(level)}"`));
      const mismatch = `volume_manager_selinux_volume_context_mismatch_errors_total kubernetes.io/csi/${DRIVER} RWX`;
      expect([gauges.get(mismatch), events, driver.faults]).toEqual([undefined, [], []]);
      life.abort();
      await running;
    },
  );

  it('V4: after a restart, a pod keeps its CSI volume although a pod with another SELinux label is synced first', async () => {
    const fixture = make(['ReadWriteMany'], true);
    const { manager, newManager, driver, clock, signal } = fixture;
    const [running, waiting] = [labelledPod('u1', { level: 's0:c1' }), labelledPod('u2', { level: 's0:c2' })];
    await manager.waitForAttachAndMount(running, signal);
    const life = new AbortController();
    const next = newManager();
    const ended = next.start(life.signal);
    await clock.settle();
    const refused = errorOf(next.waitForAttachAndMount(waiting, signal));
    await clock.settle();
    await next.waitForAttachAndMount(running, signal);
    const labels = `"${labelOf('s0:c1')}" and "${labelOf('s0:c2')}"`;
    expect((await refused).message).toContain(`conflicting SELinux labels of volume pv-1: ${labels}`);
    await next.waitForUnmount(running, signal);
    await clock.advance(10_000);
    await next.waitForAttachAndMount(waiting, signal);
    const flags = driver.publishes.map(({ capability: { access } }) =>
      'mountFlags' in access ? access.mountFlags.at(-1) : '',
    );
    expect(flags).toEqual(['s0:c1', 's0:c1', 's0:c2'].map((level) => `context="${labelOf(level)}"`));
    expect(driver.faults).toEqual([]);
    life.abort();
    await ended;
  });

  it('V4: one of two pods that start at the same time with different SELinux labels gets the CSI volume, and the other is refused', async () => {
    const fixture = make(['ReadWriteMany'], true);
    const { manager, driver, signal } = fixture;
    driver.before = () => {
      if (driver.calls.length > 4) throw csiFailure('INTERNAL', true);
    };
    const pods = ['1', '2'].map((number) => labelledPod(`u${number}`, { level: `s0:c${number}` }));
    const results = await Promise.allSettled(pods.map((pod) => manager.waitForAttachAndMount(pod, signal)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1']);
    const flags = ['noatime', `context="${labelOf('s0:c1')}"`];
    expect(flagsOf(fixture)).toEqual([flags, flags]);
  });

  it('the error of a pod that waited too long for a CSI volume names the other SELinux label', async () => {
    const { manager, driver, clock, signal } = make(['ReadWriteMany'], true);
    await manager.waitForAttachAndMount(labelledPod('u1', { level: 's0:c1' }), signal);
    driver.before = (call) => (call === 'unpublish vol-1' ? new Promise(() => {}) : undefined);
    const unmounting = errorOf(manager.waitForUnmount(labelledPod('u1', { level: 's0:c1' }), signal));
    await clock.settle();
    const mounting = errorOf(manager.waitForAttachAndMount(labelledPod('u2', { level: 's0:c2' }), signal));
    await clock.advance(123_000);
    const what = 'context deadline exceeded: waits until the volume, mounted with another SELinux label';
    expect([(await mounting).message, (await unmounting).message]).toEqual([
      expect.stringContaining(what),
      expect.stringContaining('NodeUnpublishVolume of driver'),
    ]);
  });

  it('a CSI volume whose driver has no seLinuxMount is mounted although the containers that mount it have different SELinux labels', async () => {
    const fixture = make(['ReadWriteOncePod'], false, false);
    const { manager, gauges, signal } = fixture;
    await manager.waitForAttachAndMount(labelledPod('u1', { level: 's0:c1' }, { level: 's0:c2' }), signal);
    expect(flagsOf(fixture)).toEqual([['noatime'], ['noatime']]);
    expect(gauges.get('volume_manager_selinux_pod_context_mismatch_errors_total RWOP')).toBeUndefined();
  });

  it('V4: a CSI volume that an earlier kubelet process staged with another SELinux label is staged again before it is published', async () => {
    const fixture = make();
    const { manager, driver, newManager, clock, signal } = fixture;
    const answer = Promise.withResolvers<void>();
    driver.before = (call) => (call === 'publish vol-1' ? answer.promise : undefined);
    const life = new AbortController();
    const mounting = manager.waitForAttachAndMount(labelledPod('u1', { level: 's0:c1' }), life.signal);
    mounting.catch(() => undefined);
    await clock.settle();
    life.abort();
    await fixture.fs.removeAll(`${ROOT}/pods/u1`);
    driver.before = () => {};
    const next = newManager();
    const stop = new AbortController();
    const running = next.start(stop.signal);
    await clock.settle();
    await next.waitForAttachAndMount(labelledPod('u2', { level: 's0:c2' }), signal);
    const calls = ['stage', 'publish', 'unstage', 'stage', 'publish'];
    expect(driver.calls).toEqual(calls.map((call) => `${call} vol-1`));
    const flags = driver.stages.map(({ capability: { access } }) => 'mountFlags' in access && access.mountFlags.at(-1));
    expect(flags).toEqual(['s0:c1', 's0:c2'].map((level) => `context="${labelOf(level)}"`));
    stop.abort();
    await running;
  });
});
