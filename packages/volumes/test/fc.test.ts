import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import type { DiskTools } from '../src/disks/disk-tools.ts';
import { fcDiskOf, fcSource, formatFcFile, isPathOf, parseFcFile } from '../src/disks/fc/fc-disk.ts';
import { FcDisks } from '../src/disks/fc/fc-disks.ts';
import { diskPlugins } from '../src/disks/network-disk-plugins.ts';
import { errorOf, type Fixture, MemoryClaims, podOf, ROOT, setUp } from './helpers.ts';

const WWN = '50060e801049cfd1';
const STAGED = `${ROOT}/plugins/kubernetes.io/fc/${WWN}-lun-0`;

/** Fake tools of a machine. A scan of the SCSI hosts adds the disks of the fabric to /dev. */
class MemoryTools implements DiskTools {
  readonly calls: string[] = [];
  /** Links in /dev/disk to the devices that a scan finds. */
  readonly fabric = new Map<string, string>();
  exitCode = 0;
  readonly #fs: Fixture['fs'];

  constructor(fs: Fixture['fs']) {
    this.#fs = fs;
  }

  async run(command: string, args: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }> {
    this.calls.push([command, ...args].join(' '));
    return { exitCode: this.exitCode, output: this.exitCode === 0 ? '' : 'map in use' };
  }

  async write(path: string, text: string): Promise<void> {
    this.calls.push(`write ${path} ${text}`);
    if (!path.endsWith('/scan')) return;
    for (const [link, device] of this.fabric) {
      await this.#fs.mkdir(link.slice(0, link.lastIndexOf('/')));
      if (!(await this.#fs.exists(device))) this.#fs.makeSpecial(device, 'blockDevice');
      if (!(await this.#fs.exists(link))) await this.#fs.symlink(device, link);
    }
  }
}

/** A node whose controller attaches every volume that is in use, with two SCSI hosts. */
async function makeFc() {
  const status = { attached: [] as readonly string[] };
  let tools: MemoryTools | undefined;
  const claims = new MemoryClaims();
  const fixture = setUp({}, {}, claims, ({ fs, foreignFiles, mounter, paths, loops, clock, recorder }) => {
    tools ??= new MemoryTools(fs);
    const disks = new FcDisks({ fs, tools, logger: silentLogger });
    return {
      plugins: diskPlugins(
        { fs, foreignFiles, mounter, devices: mounter, paths, loops, clock, recorder, logger: silentLogger },
        disks,
        1,
      ),
      attachments: { attachedVolumes: () => status.attached },
    };
  });
  if (tools === undefined) throw new Error('no tools');
  const { clock, signal, manager, fs } = fixture;
  for (const host of ['host0', 'host1']) await fs.mkdir(`/sys/class/scsi_host/${host}`);
  void manager.start(signal);
  await clock.settle();
  const mount = async (pod: ReturnType<typeof fcPod>): Promise<void> => {
    const mounting = manager.waitForAttachAndMount(pod, signal);
    mounting.catch(() => undefined);
    await clock.settle();
    status.attached = manager.volumesInUse() ?? [];
    manager.volumesReported(status.attached);
    await clock.settle();
    await mounting;
  };
  return { ...fixture, claims, tools, mount };
}

const fcPod = (uid: string, fc: object = { targetWWNs: [WWN], lun: 0 }) => podOf([{ name: 'data', fc }], uid);

describe('the disk of an FC volume', () => {
  it.each([
    [{ targetWWNs: ['a1', 'b2'], lun: 7 }, '[a1 b2]:7', 'a1-b2-lun-7', { wwns: ['a1', 'b2'], lun: 7 }],
    [
      { wwids: ['3600508b4', 'ACME disk 1'] },
      '[3600508b4 ACME disk 1]',
      '3600508b4-ACME_disk_1',
      { wwids: ['3600508b4', 'ACME_disk_1'] },
    ],
  ])(
    'the FC volume %j has the unique name and directory of upstream, and fcDiskOf finds its disk by the directory',
    (fc, uniqueName, name, disk) => {
      const source = fcSource({ volume: { name: 'data', fc } });
      expect(source).toEqual({ uniqueName, directory: [name], fsType: '', readOnly: false });
      expect(fcDiskOf(name)).toEqual(disk);
    },
  );

  it('an FC volume without a complete identification (WWNs with a LUN, or WWIDs) is refused', () => {
    expect(() => fcSource({ volume: { name: 'data', fc: { targetWWNs: ['a1'] } } })).toThrow(
      'no fc disk information found',
    );
    expect(() => fcDiskOf('lun-0')).toThrow('no wwn in: lun-0');
  });

  it.each([
    [`pci-0000:41:00.0-fc-0x${WWN}-lun-0`, true],
    [`fc-0x${WWN}-lun-0`, true],
    [`pci-0000:41:00.0-fc-0x${WWN}-lun-01`, false],
    [`pci-0000:41:00.0-fc-0x${WWN}-lun-0-part1`, false],
    [`ip-192.0.2.1-fc-0x${WWN}-lun-0`, false],
  ])('the link %s belongs to the disk of the FC volume: %s', (link, isIt) => {
    expect(isPathOf(link, WWN, 0)).toBe(isIt);
  });
});

it.each([{ wwns: ['a1', 'b2'], lun: 0 }, { wwids: ['mine-3600aaa', 'b'] }])(
  'the file that formatFcFile writes for the FC disk %j is read back by parseFcFile',
  (disk) => {
    expect(parseFcFile(formatFcFile(disk))).toEqual(disk);
  },
);

it.each(['', 'null', '7', '{}', '{"WWIDs":[7]}', '{"WWNs":["a1"]}', '{"WWNs":[],"Lun":1}'])(
  'the file content %j names no FC disk',
  (text) => {
    expect(parseFcFile(text)).toBeUndefined();
  },
);

describe('an FC volume', () => {
  it("an FC volume is found by a scan, mounted once at upstream's path and bound into each pod, and removed after the last", async () => {
    const { mount, manager, tools, mounter, fs, clock, signal } = await makeFc();
    tools.fabric.set(`/dev/disk/by-path/pci-0000:41:00.0-fc-0x${WWN}-lun-0`, '/dev/sdc');
    await mount(fcPod('u1'));
    await mount(fcPod('u2'));
    expect(tools.calls).toEqual([
      'write /sys/class/scsi_host/host0/scan - - -',
      'write /sys/class/scsi_host/host1/scan - - -',
    ]);
    expect(mounter.asked).toEqual(['disk /dev/sdc ', 'bind', 'bind']);
    expect(manager.volumesInUse()).toEqual([`kubernetes.io/fc/[${WWN}]:0`]);
    tools.calls.length = 0;
    await manager.waitForUnmount(fcPod('u1'), signal);
    await manager.waitForUnmount(fcPod('u2'), signal);
    await clock.settle();
    expect(tools.calls).toEqual(['blockdev --flushbufs /dev/sdc', 'write /sys/block/sdc/device/delete 1']);
    expect([(await mounter.mountPoints()).size, await fs.exists(STAGED)]).toEqual([0, false]);
  });

  it('an FC volume with a multipath device needs no scan; the device is flushed before its paths are removed', async () => {
    const { mount, manager, tools, mounter, fs, clock, signal } = await makeFc();
    for (const disk of ['sdc', 'sdd']) await fs.mkdir(`/sys/block/dm-2/slaves/${disk}`);
    tools.fabric.set(`/dev/disk/by-path/fc-0x${WWN}-lun-0`, '/dev/sdc');
    tools.fabric.set('/dev/disk/by-path/fc-0xb2-lun-0', '/dev/sdd');
    await tools.write('/sys/class/scsi_host/host0/scan', '');
    tools.calls.length = 0;
    const pod = fcPod('u1', { targetWWNs: [WWN, 'b2'], lun: 0, fsType: 'xfs', readOnly: true });
    await mount(pod);
    expect([tools.calls, mounter.asked]).toEqual([[], ['disk /dev/dm-2 xfs ro', 'bind', 'rebind ro']]);
    tools.exitCode = 1;
    await manager.waitForUnmount(pod, signal);
    await clock.settle();
    expect(tools.calls).toEqual(['multipath -f /dev/dm-2']);
    tools.exitCode = 0;
    await clock.advance(500);
    expect(tools.calls.slice(1)).toEqual([
      'multipath -f /dev/dm-2',
      'blockdev --flushbufs /dev/sdc',
      'write /sys/block/sdc/device/delete 1',
      'blockdev --flushbufs /dev/sdd',
      'write /sys/block/sdd/device/delete 1',
    ]);
  });

  it('an FC volume is found by its WWID', async () => {
    const { mount, tools, mounter } = await makeFc();
    tools.fabric.set('/dev/disk/by-id/scsi-ACME_disk_1', '/dev/sde');
    await mount(fcPod('u1', { wwids: ['ACME disk 1'] }));
    expect(mounter.asked[0]).toBe('disk /dev/sde ');
  });

  it.each(['mine-3600aaa', '0QEMU_HARDDISK_drive-scsi0', '5000aa-lun-1'])(
    'an FC volume with the identifier %s, which contains hyphens, uses exactly that disk, and disconnects exactly that disk',
    async (wwid) => {
      const { mount, manager, tools, mounter, fs, clock, signal } = await makeFc();
      tools.fabric.set(`/dev/disk/by-id/scsi-${wwid}`, '/dev/sde');
      for (const part of wwid.split('-')) tools.fabric.set(`/dev/disk/by-id/scsi-${part}`, '/dev/sdf');
      tools.fabric.set('/dev/disk/by-path/fc-0x5000aa-lun-1', '/dev/sdg');
      await mount(fcPod('u1', { wwids: [wwid] }));
      expect(mounter.asked[0]).toBe('disk /dev/sde ');
      tools.calls.length = 0;
      await manager.waitForUnmount(fcPod('u1'), signal);
      await clock.settle();
      expect(tools.calls).toEqual(['blockdev --flushbufs /dev/sde', 'write /sys/block/sde/device/delete 1']);
      expect(await fs.exists(`${ROOT}/plugins/kubernetes.io/fc/${wwid}`)).toBe(false);
    },
  );

  it('an FC volume of the Go kubelet, which stores no identifiers, is disconnected by the name of its directory', async () => {
    const { tools, fs, signal } = await makeFc();
    tools.fabric.set(`/dev/disk/by-path/fc-0x${WWN}-lun-0`, '/dev/sdc');
    await tools.write('/sys/class/scsi_host/host0/scan', '');
    tools.calls.length = 0;
    await new FcDisks({ fs, tools, logger: silentLogger }).disconnect([`${WWN}-lun-0`], STAGED, signal);
    expect(tools.calls).toEqual(['blockdev --flushbufs /dev/sdc', 'write /sys/block/sdc/device/delete 1']);
  });

  it('a pod whose FC disk is not in the fabric waits with the reason, and gets the disk when it appears', async () => {
    const { mount, tools, events, clock, manager, signal } = await makeFc();
    expect((await errorOf(mount(fcPod('u1')))).message).toContain('no fc disk found');
    expect(events.at(-1)).toBe('FailedMount: MountVolume.MountDevice failed for volume "data" : no fc disk found');
    tools.fabric.set(`/dev/disk/by-path/fc-0x${WWN}-lun-0`, '/dev/sdc');
    await clock.advance(500);
    await manager.waitForAttachAndMount(fcPod('u1'), signal);
  });
});

it("an FC volume with volumeMode Block is mapped at upstream's paths, and its device is removed after the last pod", async () => {
  const { tools, claims, manager, loops, fs, clock, signal, mount } = await makeFc();
  tools.fabric.set(`/dev/disk/by-path/pci-0000:00:00.0-fc-0x${WWN}-lun-0`, '/dev/sdb');
  claims.bind('c', 'pv-1', { fc: { targetWWNs: [WWN], lun: 0 }, volumeMode: 'Block' });
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }];
  const volumeDevices = [{ name: 'data', devicePath: '/dev/xvda' }];
  const pod = podOf(volumes, 'u1', { containers: [{ name: 'main', image: 'busybox', volumeDevices }] });
  await mount(pod);
  const directory = `${ROOT}/plugins/kubernetes.io/fc/volumeDevices/${WWN}-lun-0`;
  expect(fs.names(directory)).toEqual(['fc.json', 'u1']);
  expect(await fs.readlink(`${ROOT}/pods/u1/volumeDevices/kubernetes.io~fc/pv-1`)).toBe('/dev/sdb');
  await manager.waitForUnmount(pod, signal);
  await clock.settle();
  expect(tools.calls.slice(-2)).toEqual(['blockdev --flushbufs /dev/sdb', 'write /sys/block/sdb/device/delete 1']);
  expect([await fs.exists(directory), loops.devices.size]).toEqual([false, 0]);
});
