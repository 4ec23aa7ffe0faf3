import type { CsiVolumeUsage } from '@node-agent/contracts';
import { describe, expect, it } from 'vitest';
import { usageOf } from '../src/csi/usage-rule.ts';
import { blockPod, claimPod, makeCsi } from './csi-helpers.ts';
import { podOf } from './helpers.ts';

describe('usage of a CSI volume', () => {
  it('the usage of a CSI volume is the usage that the driver reports, with the PVC', async () => {
    const { manager, driver, signal } = makeCsi();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect(await manager.volumeUsage(claimPod('u1'), signal)).toEqual([]);
    driver.can = { ...driver.can, volumeStats: true };
    driver.stats = {
      usage: [
        { unit: 'bytes', total: 100n, used: 40n, available: 60n },
        { unit: 'inodes', total: 10n, used: 4n, available: 6n },
      ],
    };
    expect(await manager.volumeUsage(claimPod('u1'), signal)).toMatchObject([
      {
        ...{ name: 'data', medium: 'persistent', usedBytes: 40, inodesUsed: 4, complete: true },
        claim: { namespace: 'default', name: 'c' },
        fileSystem: { totalBytes: 100, freeBytes: 60, availableBytes: 60, inodes: 10, freeInodes: 6 },
      },
    ]);
  });

  it("the usage of a CSI block volume is requested with the path of the pod's device", async () => {
    const { manager, driver, signal } = makeCsi({}, { volumeMode: 'Block' });
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    driver.can = { ...driver.can, volumeStats: true };
    driver.stats = { usage: [{ unit: 'bytes', total: 100n }] };
    expect(await manager.volumeUsage(blockPod('u1'), signal)).toMatchObject([{ fileSystem: { totalBytes: 100 } }]);
    expect(driver.measured).toEqual(['/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv-1/dev/u1']);
  });

  it.each([
    ['with the gate CSIVolumeHealth', true, true, ['VolumeConditionAbnormal: Volume data: disk is failing']],
    ['without the gate CSIVolumeHealth', false, undefined, []],
  ])(
    "%s, an abnormal condition of a CSI volume is reported in the volume's usage and by an event: $1",
    async (_what, showsHealth, abnormal, events) => {
      const fixture = makeCsi({}, {}, undefined, { showsHealth });
      const { manager, driver, signal } = fixture;
      await manager.waitForAttachAndMount(claimPod('u1'), signal);
      driver.can = { ...driver.can, volumeStats: true, volumeCondition: true };
      const condition = { abnormal: true, message: 'disk is failing' };
      driver.stats = { usage: [{ unit: 'bytes', total: 100n }], condition };
      const [usage] = await manager.volumeUsage(claimPod('u1'), signal);
      expect([usage?.abnormal, fixture.events]).toEqual([abnormal, events]);
      driver.stats = { usage: [], condition: { ...condition, abnormal: false } };
      const usages = await manager.volumeUsage(claimPod('u1'), signal);
      expect(usages.map((one) => [one.abnormal, one.usedBytes])).toEqual(showsHealth ? [[false, 0]] : []);
      expect(fixture.events).toEqual(events);
    },
  );

  it('W6: a CSI driver that does not answer does not delay the measurement of other volumes', async () => {
    const { manager, driver, clock, signal } = makeCsi();
    const own = podOf([{ name: 'scratch', emptyDir: {} }], 'own');
    await manager.waitForAttachAndMount(own, signal);
    const uids = ['u1', 'u2', 'u3', 'u4', 'u5', 'u6'];
    for (const uid of uids) await manager.waitForAttachAndMount(claimPod(uid), signal);
    driver.can = { ...driver.can, volumeStats: true };
    driver.before = () => new Promise(() => {});
    const hanging = uids.map((uid) => manager.volumeUsage(claimPod(uid), signal));
    await clock.settle();
    expect(await manager.volumeUsage(own, signal)).toHaveLength(1);
    expect(hanging).toHaveLength(6);
  });

  it("numbers of a CSI volume's usage that are missing or negative count as 0", () => {
    const bytesAndInodes = (...usage: CsiVolumeUsage[]) => {
      const { bytes, inodes, fileSystem } = usageOf({ usage }, false) ?? {};
      return [bytes, inodes, fileSystem?.inodes];
    };
    expect(bytesAndInodes()).toEqual([undefined, undefined, undefined]);
    expect(bytesAndInodes({ unit: 'bytes', used: 5n })).toEqual([5, 0, 0]);
    expect(bytesAndInodes({ unit: 'inodes', used: 5n, total: -1n })).toEqual([0, 5, 0]);
  });
});
