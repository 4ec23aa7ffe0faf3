import { silentLogger } from '@node-agent/telemetry';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DiskTools } from '../src/disks/disk-tools.ts';
import {
  deviceName,
  diskOfNames,
  formatIscsiFile,
  iscsiDisk,
  iscsiSource,
  parseIscsiFile,
  requiredIscsiDisk,
} from '../src/disks/iscsi/iscsi-disk.ts';
import { IscsiDisks } from '../src/disks/iscsi/iscsi-disks.ts';
import { pathsFound } from '../src/disks/iscsi/path-rule.ts';
import { diskPlugins } from '../src/disks/network-disk-plugins.ts';
import { VolumeError } from '../src/errors.ts';
import type { CommandResult } from '../src/mount/command-shell.ts';
import type { SecretData } from '../src/projected/sources.ts';
import { errorOf, type Fixture, MemoryClaims, podOf, ROOT, setUp } from './helpers.ts';

const IQN = 'iqn.2026-01.com.example:disk';
const PORTAL = '192.0.2.1:3260';
const STAGED = `${ROOT}/plugins/kubernetes.io/iscsi/iface-default/${PORTAL}-${IQN}-lun-3`;
const LINK = `/dev/disk/by-path/ip-${PORTAL}-iscsi-${IQN}-lun-3`;
const INTERFACE = `# BEGIN RECORD 2.1
iface.iscsi_ifacename = default
iface.net_ifacename = <empty>
iface.transport_name = tcp
iface.initiatorname = <empty>
iface.mtu = 1500
# END RECORD`;

/** Fake tools of a machine: logins create sessions in /sys, and scans create devices in /dev. */
class MemoryTools implements DiskTools {
  readonly calls: string[] = [];
  /** Portals that refuse a login, with the exit code. */
  readonly refusals = new Map<string, number>();
  /** Called before each call; may throw or wait. */
  before: (call: string) => void | Promise<void> = () => {};
  interfaceText = INTERFACE;
  readonly #fs: Fixture['fs'];
  #hosts = 1;

  constructor(fs: Fixture['fs']) {
    this.#fs = fs;
  }

  async run(command: string, args: readonly string[]): Promise<CommandResult> {
    const call = [command, ...args].join(' ');
    this.calls.push(call);
    await this.before(call);
    const [, portal = ''] = /-p (\S+)/.exec(call) ?? [];
    if (call.includes('-m iface') && call.endsWith('-o show')) {
      return { exitCode: 0, output: this.interfaceText.replaceAll('\n', ' ') };
    }
    if (call.endsWith('--login')) {
      const exitCode = this.refusals.get(portal) ?? 0;
      if (exitCode !== 0) return { exitCode, output: 'iscsiadm: Could not login' };
      await this.#session(portal, args[args.indexOf('-T') + 1] ?? '');
    }
    if (call.includes('--logout')) {
      if (!(await this.#fs.exists('/sys/class/iscsi_host'))) return { exitCode: 21, output: 'No records found' };
      await this.#fs.removeAll('/sys/class/iscsi_host');
    }
    return { exitCode: 0, output: '' };
  }

  async write(path: string, text: string): Promise<void> {
    this.calls.push(`write ${path} ${text}`);
    await this.before(`write ${path} ${text}`);
    const [, host] = /host(\d+)\/scan$/.exec(path) ?? [];
    if (host === undefined) return;
    const [, , lun = ''] = text.split(' ');
    const session = `/sys/class/iscsi_host/host${host}/device/session${host}`;
    const target = (await this.#read(`${session}/iscsi_session/session${host}/targetname`)).trim();
    const portal = await this.#read(`${session}/connection${host}:0/iscsi_connection/connection${host}:0/address`);
    const device = `sd${'abcdef'[Number(host)]}`;
    await this.#fs.mkdir(`${session}/target${host}:0:0/${host}:0:0:${lun}/block/${device}`);
    await this.#fs.mkdir('/dev/disk/by-path');
    if (!(await this.#fs.exists(`/dev/${device}`))) this.#fs.makeSpecial(`/dev/${device}`, 'blockDevice');
    const link = `/dev/disk/by-path/ip-${portal}:3260-iscsi-${target}-lun-${lun}`;
    if (!(await this.#fs.exists(link))) await this.#fs.symlink(`/dev/${device}`, link);
  }

  async #session(portal: string, iqn: string): Promise<void> {
    const host = this.#hosts++;
    const session = `/sys/class/iscsi_host/host${host}/device/session${host}`;
    const connection = `${session}/connection${host}:0/iscsi_connection/connection${host}:0`;
    await this.#fs.mkdir(connection);
    await this.#fs.mkdir(`${session}/iscsi_session/session${host}`);
    await this.#fs.writeFile(`${session}/iscsi_session/session${host}/targetname`, `${iqn}\n`);
    const [address = '', port = ''] = portal.split(/:(?=\d+$)/);
    await this.#fs.writeFile(`${connection}/address`, address);
    await this.#fs.writeFile(`${connection}/port`, port);
  }

  async #read(path: string): Promise<string> {
    return new TextDecoder().decode(await this.#fs.readFile(path));
  }
}

/** A node whose controller attaches every volume that is in use, and the claim `c` of an iSCSI disk. */
function makeIscsi(iscsi: object = {}, spec: object = {}, hasController = true) {
  const claims = new MemoryClaims();
  const secrets = new Map<string, SecretData>();
  const status = { attached: [] as readonly string[] };
  let tools: MemoryTools | undefined;
  const fixture = setUp({}, {}, claims, ({ fs, foreignFiles, mounter, paths, loops, clock, recorder }) => {
    tools ??= new MemoryTools(fs);
    const disks = new IscsiDisks({
      ...{ fs, tools, clock, logger: silentLogger },
      secrets: async (namespace, name) => secrets.get(`${namespace}/${name}`),
    });
    return {
      plugins: diskPlugins(
        {
          ...{ fs, foreignFiles, mounter, devices: mounter, paths, loops, clock, recorder, logger: silentLogger },
          hasController,
        },
        disks,
        2,
      ),
      attachments: { attachedVolumes: () => status.attached },
    };
  });
  if (tools === undefined) throw new Error('no tools');
  claims.bind('c', 'pv-1', { iscsi: { targetPortal: '192.0.2.1', iqn: IQN, lun: 3, ...iscsi }, ...spec });
  const { clock, signal } = fixture;
  const start = async (manager = fixture.manager) => {
    const life = new AbortController();
    const running = manager.start(life.signal);
    await clock.settle();
    const attach = async (): Promise<void> => {
      await clock.settle();
      status.attached = manager.volumesInUse() ?? [];
      manager.volumesReported(status.attached);
      await clock.settle();
    };
    const mount = async (pod: ReturnType<typeof claimPod>, waitMs = 1_000): Promise<void> => {
      const mounting = manager.waitForAttachAndMount(pod, signal);
      mounting.catch(() => undefined);
      // If the disk cannot be read, the first report keeps the node's list, and the second one adds to it.
      await attach();
      await attach();
      await clock.advance(waitMs);
      await mounting;
    };
    const stop = async (): Promise<void> => {
      life.abort();
      await running;
    };
    return { manager, attach, mount, stop };
  };
  return { ...fixture, claims, secrets, tools, start };
}

const claimPod = (uid: string, spec: object = {}, readOnly = false) =>
  podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly } }], uid, spec);

describe('the disk of an iSCSI volume', () => {
  const volume = (iscsi: object) => ({
    volume: { name: 'data', iscsi: { targetPortal: '192.0.2.1', iqn: IQN, lun: 3, ...iscsi } },
  });

  it('the disk of an iSCSI volume has portals with ports, and the directory and unique name of upstream', () => {
    const spec = volume({ portals: ['192.0.2.2', '192.0.2.3:99'] });
    expect(iscsiDisk(spec)?.portals).toEqual([PORTAL, '192.0.2.2:3260', '192.0.2.3:99']);
    expect(iscsiSource(spec)).toEqual({
      ...{ uniqueName: `192.0.2.1:${IQN}:3`, directory: ['iface-default', `${PORTAL}-${IQN}-lun-3`] },
      ...{ fsType: '', readOnly: false },
    });
  });

  it('the disk of an iSCSI volume with an initiator name has an iSCSI interface of its own', () => {
    const disk = iscsiDisk(volume({ initiatorName: 'iqn.x:me', iscsiInterface: 'eth0' }));
    expect([disk?.initIface, disk?.iface]).toEqual(['eth0', `${PORTAL}:data`]);
  });

  it.each(['iqn.2026-01.com.example:a-b', 'eui.02004567A425678D'])(
    'the kubelet recognises the disk of an iSCSI volume by its directories (%s)',
    (iqn) => {
      fc.assert(
        fc.property(fc.ipV4(), fc.nat(300), (address, lun) => {
          const names = ['iface-eth0', deviceName({ portals: [`${address}:3260`], iqn, lun })];
          expect(diskOfNames(names)).toMatchObject({ portals: [`${address}:3260`], iqn, lun, iface: 'eth0' });
        }),
      );
      expect(() => diskOfNames(['x', 'y'])).toThrow('malformatted mnt path: x/y');
    },
  );

  it("iscsi.json describes the disk of an iSCSI volume in upstream's format, and is read", () => {
    const disk = requiredIscsiDisk(volume({}));
    expect(formatIscsiFile(disk)).toBe(
      `{"VolName":"data","Portals":["${PORTAL}"],"Iqn":"${IQN}","Lun":"3","InitIface":"default","Iface":"default","InitiatorName":"","MetricsProvider":null}\n`,
    );
    expect(parseIscsiFile(formatIscsiFile(disk))).toMatchObject({
      portals: [PORTAL],
      iqn: IQN,
      lun: 3,
      iface: 'default',
    });
    for (const text of ['', '[]', 'null', '{"Portals":[]}', '{"Portals":[1],"Iqn":"x"}']) {
      expect(parseIscsiFile(text)).toBeUndefined();
    }
  });

  it.each([
    [0, 2, 1, 'enough'],
    [1, 1, 1, 'enough'],
    [1, 2, 1, 'again'],
    [1, 2, 4, 'again'],
    [1, 2, 5, 'enough'],
    [2, 3, 1, 'again'],
    [2, 3, 2, 'enough'],
  ])(
    'after an iSCSI login with %i of %i paths at attempt %i, the portals are tried "again", or the paths are "enough": %s',
    (found, portals, attempt, tried) => {
      expect(pathsFound(found, portals, attempt)).toBe(tried);
    },
  );
});

describe('an iSCSI volume', () => {
  it("an iSCSI volume is logged in, mounted once at upstream's path and bound into each pod, and is logged out after the last", async () => {
    const { start, tools, mounter, fs, clock, signal } = makeIscsi();
    const { manager, mount, stop } = await start();
    await mount(claimPod('u1'));
    const database = `iscsiadm -m discoverydb -t sendtargets -p ${PORTAL} -I default`;
    const node = `iscsiadm -m node -p ${PORTAL} -T ${IQN} -I default`;
    expect(tools.calls).toEqual([
      'iscsiadm -m iface -I default -o show',
      `${database} -o new`,
      `${database} --discover`,
      `${node} -o update -n node.session.scan -v manual`,
      `${node} --login`,
      `iscsiadm -m node -p ${PORTAL} -T ${IQN} -o update -n node.startup -v manual`,
      'write /sys/class/scsi_host/host1/scan 0 0 3',
    ]);
    expect(mounter.asked).toEqual([`disk ${LINK} `, 'bind']);
    await mount(claimPod('u2'));
    expect([...(await mounter.mountPoints()).keys()].sort()).toEqual(
      [STAGED, ...['u1', 'u2'].map((uid) => `${ROOT}/pods/${uid}/volumes/kubernetes.io~iscsi/pv-1`)].sort(),
    );
    expect(manager.volumesInUse()).toEqual([`kubernetes.io/iscsi/192.0.2.1:${IQN}:3`]);
    tools.calls.length = 0;
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect(tools.calls).toEqual([]);
    await manager.waitForUnmount(claimPod('u2'), signal);
    await clock.settle();
    expect(tools.calls).toEqual([
      'write /sys/block/sdb/device/delete 1',
      `iscsiadm -m node -p ${PORTAL} -T ${IQN} --logout -I default`,
      `iscsiadm -m node -p ${PORTAL} -T ${IQN} -o delete -I default`,
    ]);
    expect([(await mounter.mountPoints()).size, await fs.exists(STAGED), manager.volumesInUse()]).toEqual([
      0,
      false,
      [],
    ]);
    expect(fs.paths().filter((path) => path.includes('-lun-3') && path.startsWith(ROOT))).toEqual([]);
    await stop();
  });

  it('an iSCSI volume is connected at once on a node without an API server, where no controller attaches it', async () => {
    const { start, mounter, clock, signal } = makeIscsi({}, {}, false);
    const { manager, stop } = await start();
    const inline = { name: 'data', iscsi: { targetPortal: '192.0.2.1', iqn: IQN, lun: 3 } };
    const pod = podOf([inline], 'u1');
    const mounting = manager.waitForAttachAndMount(pod, signal);
    await clock.advance(1_000);
    await mounting;
    expect(mounter.asked).toEqual([`disk ${LINK} `, 'bind']);
    expect(manager.volumesInUse()).toEqual([]);
    await stop();
  });

  it('an iSCSI volume has the declared file system, mount options, group and read-only flag', async () => {
    const { start, mounter, fs, signal } = makeIscsi({ fsType: 'xfs' }, { mountOptions: ['noatime'] });
    const { mount, manager, stop } = await start();
    await mount(claimPod('u1', { securityContext: { fsGroup: 7 } }));
    expect(mounter.asked).toEqual([`disk ${LINK} xfs noatime`, 'bind', 'rebind noatime']);
    expect((await fs.stat(`${ROOT}/pods/u1/volumes/kubernetes.io~iscsi/pv-1`)).gid).toBe(7);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await stop();
    const other = makeIscsi();
    const second = await other.start();
    await second.mount(claimPod('u1', {}, true));
    expect(other.mounter.asked).toEqual([`disk ${LINK}  ro`, 'bind', 'rebind ro']);
    await second.stop();
  });

  it('W4: an iSCSI volume gets CHAP credentials of a secret, which no message contains', async () => {
    const { start, tools, secrets, signal, events, clock } = makeIscsi({
      ...{ chapAuthDiscovery: true, chapAuthSession: true, secretRef: { name: 's', namespace: 'ns' } },
    });
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    secrets.set('ns/s', {
      data: {
        'discovery.sendtargets.auth.username': base64('finder'),
        'node.session.auth.password': base64('hush-hush'),
      },
    });
    const { manager, mount, attach, stop } = await start();
    tools.before = (call) => {
      if (call.endsWith('hush-hush')) throw new VolumeError('MountFailed', 'no');
    };
    const error = errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    await attach();
    expect([(await error).message, ...events].join()).not.toContain('hush');
    tools.before = () => {};
    tools.calls.length = 0;
    await clock.advance(500);
    await mount(claimPod('u1'));
    expect(tools.calls.filter((call) => call.includes('auth')).map((call) => call.split(' -n ')[1])).toEqual([
      'discovery.sendtargets.auth.authmethod -v CHAP',
      'discovery.sendtargets.auth.username -v finder',
      'node.session.auth.authmethod -v CHAP',
      'node.session.auth.password -v hush-hush',
    ]);
    await stop();
  });

  it('an iSCSI volume with an initiator name gets an interface with the settings of the declared one; it is deleted after the last pod', async () => {
    const { start, tools, clock, signal } = makeIscsi({ initiatorName: 'iqn.x:me' });
    const { manager, mount, stop } = await start();
    await mount(claimPod('u1'));
    const own = `iscsiadm -m iface -I ${PORTAL}:pv-1`;
    expect(tools.calls.filter((call) => call.startsWith(own))).toEqual([
      `${own} -o new`,
      `${own} -o update -n iface.initiatorname -v iqn.x:me`,
      `${own} -o update -n iface.mtu -v 1500`,
      `${own} -o update -n iface.transport_name -v tcp`,
    ]);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect(tools.calls.at(-1)).toBe(`${own} -o delete`);
    await stop();
  });

  it('an iSCSI volume with several portals uses the multipath device, also if one portal refuses the login', async () => {
    const { start, tools, mounter, fs, clock } = makeIscsi({ portals: ['192.0.2.2', '192.0.2.3'] });
    tools.refusals.set('192.0.2.3:3260', 24);
    for (const disk of ['sdb', 'sdc']) await fs.mkdir(`/sys/block/dm-4/slaves/${disk}`);
    const { mount, stop } = await start();
    await mount(claimPod('u1'));
    await clock.settle();
    expect(mounter.asked[0]).toBe('disk /dev/dm-4 ');
    expect(tools.calls.filter((call) => call.endsWith('--login'))).toHaveLength(4);
    await stop();
  });

  it("a pod whose iSCSI portals cannot be reached gets iscsiadm's reason, and the login is retried", async () => {
    const { start, tools, events, clock, signal } = makeIscsi();
    tools.refusals.set(PORTAL, 8);
    const { manager, attach, stop } = await start();
    const error = errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    await attach();
    expect((await error).message).toContain(
      'failed to get any path for iscsi disk, last err seen: iscsi: failed to attach',
    );
    expect(events.at(-1)).toMatch(
      /^FailedMount: MountVolume\.MountDevice failed for volume "pv-1" : failed to get any path/,
    );
    tools.refusals.clear();
    await clock.advance(500);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await stop();
  });

  it('an iSCSI volume waits up to 30 s for the link to its device', async () => {
    const { start, tools, clock, signal } = makeIscsi();
    const { write } = tools;
    tools.write = async () => {};
    const { manager, attach, stop } = await start();
    const error = errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    await attach();
    await clock.advance(29_000);
    expect((await error).message).toContain(`Timed out waiting for device at path ${LINK} after 30s`);
    tools.write = write;
    await stop();
  });

  it('W6: an iSCSI target that does not answer delays no volume of another target, and its pod shows what it waits for', async () => {
    const { start, tools, claims, clock, signal } = makeIscsi();
    claims.bind('d', 'pv-2', { iscsi: { targetPortal: '192.0.2.9', iqn: `${IQN}2`, lun: 0 } });
    tools.before = (call) => (call.includes('--login') && call.includes(PORTAL) ? new Promise(() => {}) : undefined);
    const { manager, attach, stop } = await start();
    const waiting = errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    await attach();
    const other = podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'd' } }], 'u2');
    const mounting = manager.waitForAttachAndMount(other, signal);
    await attach();
    await mounting;
    await clock.advance(42_000);
    expect(manager.volumeWaits('u1')).toMatchObject([
      { what: `connection of disk 192.0.2.1:${IQN}:3 has not answered for 42 s` },
    ]);
    await clock.advance(81_000);
    expect((await waiting).code).toBe('NotMounted');
    await stop();
  });

  it('an iSCSI target is not logged out while another volume uses it', async () => {
    const { start, tools, claims, clock, signal } = makeIscsi();
    claims.bind('d', 'pv-2', { iscsi: { targetPortal: '192.0.2.1', iqn: IQN, lun: 4 } });
    const { manager, mount, stop } = await start();
    await mount(claimPod('u1'));
    const other = podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'd' } }], 'u2');
    await mount(other);
    expect(tools.calls.filter((call) => call.endsWith('--login'))).toHaveLength(1);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect(tools.calls.some((call) => call.includes('--logout'))).toBe(false);
    await manager.waitForUnmount(other, signal);
    await clock.settle();
    expect(tools.calls.filter((call) => call.includes('--logout'))).toHaveLength(1);
    await stop();
  });

  it('V4: an iSCSI volume that a former kubelet process mounted is used again by its pod, and is logged out after the pod is gone', async () => {
    const { start, newManager, tools, mounter, clock, signal } = makeIscsi();
    const first = await start();
    await first.mount(claimPod('u1'));
    await first.stop();
    const next = await start(newManager());
    expect(next.manager.volumesInUse()).toEqual([`kubernetes.io/iscsi/192.0.2.1:${IQN}:3`]);
    tools.calls.length = 0;
    await next.mount(claimPod('u1'));
    expect(tools.calls).toEqual([]);
    await next.manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect([
      tools.calls.filter((call) => call.includes('--logout')).length,
      (await mounter.mountPoints()).size,
    ]).toEqual([1, 0]);
    await next.stop();
  });

  it('V4: after a restart, an iSCSI volume that was logged in but is in no pod is logged out', async () => {
    const { start, newManager, tools, mounter, clock, fs, signal } = makeIscsi();
    const first = await start();
    const { formatAndMount } = mounter;
    mounter.formatAndMount = () => new Promise(() => {});
    void first.manager.waitForAttachAndMount(claimPod('u1'), signal).catch(() => undefined);
    await first.attach();
    await first.stop();
    mounter.formatAndMount = formatAndMount;
    const next = await start(newManager());
    await clock.settle();
    expect([tools.calls.filter((call) => call.includes('--logout')).length, await fs.exists(STAGED)]).toEqual([
      1,
      false,
    ]);
    await next.stop();
  });

  it('V1: an iSCSI volume that the Go kubelet mounted, and whose exact name is unknown, is neither unmounted nor logged out', async () => {
    const { start, newManager, tools, mounter, fs } = makeIscsi();
    const first = await start();
    await first.mount(claimPod('u1'));
    await first.stop();
    await fs.remove(`${ROOT}/plugins/kubernetes.io/iscsi/iface-default/.${PORTAL}-${IQN}-lun-3`);
    await mounter.unmount(`${ROOT}/pods/u1/volumes/kubernetes.io~iscsi/pv-1`);
    await fs.removeAll(`${ROOT}/pods/u1`);
    tools.calls.length = 0;
    const next = await start(newManager());
    expect([tools.calls, [...(await mounter.mountPoints()).keys()]]).toEqual([[], [STAGED]]);
    await next.stop();
  });
});

it('K1, V4: after a kill at any step and a restart, an iSCSI volume is mounted for its pod, or nothing is left', async () => {
  for (const isWanted of [true, false]) {
    let killed = 0;
    for (let after = 0; after < 70; after++) {
      const { start, newManager, tools, mounter, fs, clock, signal } = makeIscsi();
      const fault = fs.injectFault({ code: 'EIO', skip: after, times: Number.POSITIVE_INFINITY });
      const isKilled = (): boolean => fault.hits > 0;
      mounter.isKilled = isKilled;
      tools.before = () => {
        if (isKilled()) throw new VolumeError('MountFailed', 'killed');
      };
      const first = await start();
      await first
        .mount(claimPod('u1'), 40_000)
        .then(() => (isWanted ? undefined : first.manager.waitForUnmount(claimPod('u1'), signal)))
        .catch(() => killed++);
      await clock.settle();
      await first.stop();
      fault.remove();
      mounter.isKilled = () => false;
      tools.before = () => {};
      const next = await start(newManager());
      await clock.advance(5_000);
      if (isWanted) await next.mount(claimPod('u1'));
      else await next.manager.waitForUnmount(claimPod('u1'), signal);
      await clock.advance(5_000);
      const mounted = isWanted ? [`${ROOT}/pods/u1/volumes/kubernetes.io~iscsi/pv-1`, STAGED].sort() : [];
      expect([...(await mounter.mountPoints()).keys()].sort(), `after ${after} operations`).toEqual(mounted);
      if (!isWanted) {
        const isLoggedIn = await fs.exists('/sys/class/iscsi_host');
        expect([isLoggedIn, await fs.exists(STAGED)], `after ${after} operations`).toEqual([false, false]);
        await next.stop();
        await (await start(newManager())).stop();
        const left = fs.paths().filter((path) => path.startsWith(`${ROOT}/plugins/kubernetes.io/iscsi/iface-default/`));
        expect(left, `after ${after} operations`).toEqual([]);
      }
      await next.stop();
    }
    expect(killed).toBeGreaterThan(5);
  }
});

describe('an iSCSI volume with volumeMode Block', () => {
  const BLOCKS = `${ROOT}/plugins/kubernetes.io/iscsi/volumeDevices/iface-default/${PORTAL}-${IQN}-lun-3`;
  const linkOf = (uid: string): string => `${ROOT}/pods/${uid}/volumeDevices/kubernetes.io~iscsi/pv-1`;
  const blockPod = (uid: string): ReturnType<typeof claimPod> => {
    const pod = claimPod(uid);
    const volumeDevices = [{ name: 'data', devicePath: '/dev/xvda' }];
    return { ...pod, spec: { ...pod.spec, containers: [{ name: 'main', image: 'busybox', volumeDevices }] } };
  };

  it("an iSCSI block volume is logged in once, mapped for each pod at upstream's paths, and logged out after the last pod", async () => {
    const { tools, loops, fs, clock, signal, start } = makeIscsi({}, { volumeMode: 'Block' });
    const { manager, mount } = await start();
    await mount(blockPod('u1'));
    await mount(blockPod('u2'));
    expect(tools.calls.filter((call) => call.includes('--login'))).toHaveLength(1);
    expect(fs.names(BLOCKS)).toEqual(['iscsi.json', 'u1', 'u2']);
    expect([await fs.readlink(linkOf('u1')), [...loops.devices.keys()]]).toEqual([
      '/dev/sdb',
      [`${BLOCKS}/u1`, `${BLOCKS}/u2`],
    ]);
    expect(
      manager.containerDevices(blockPod('u1'), { name: 'main', ...blockPod('u1').spec.containers[0] }),
    ).toMatchObject([{ hostPath: linkOf('u1'), containerPath: '/dev/xvda' }]);
    await fs.mkdir('/sys/class/block/sdb');
    await fs.writeFile('/sys/class/block/sdb/size', '2048\n');
    expect(await manager.volumeUsage(blockPod('u1'), signal)).toMatchObject([{ fileSystem: { totalBytes: 2 ** 20 } }]);
    await manager.waitForUnmount(blockPod('u1'), signal);
    await clock.settle();
    expect(tools.calls.some((call) => call.includes('--logout'))).toBe(false);
    await manager.waitForUnmount(blockPod('u2'), signal);
    await clock.settle();
    expect(tools.calls.at(-1)).toContain('-o delete');
    expect(tools.calls.some((call) => call.includes('--logout'))).toBe(true);
    expect([await fs.exists(BLOCKS), loops.devices.size, manager.volumesInUse()]).toEqual([false, 0, []]);
  });

  it('K1: after a restart, an iSCSI block volume is recognised, and a pod that is gone leaves nothing behind', async () => {
    const { tools, loops, fs, clock, newManager, signal, start } = makeIscsi({}, { volumeMode: 'Block' });
    const first = await start();
    await first.mount(blockPod('u1'));
    await first.stop();
    const { manager } = await start(newManager());
    expect(manager.volumesInUse()).toEqual([`kubernetes.io/iscsi/192.0.2.1:${IQN}:3`]);
    await manager.waitForUnmount(blockPod('u1'), signal);
    await clock.settle();
    expect([await fs.exists(BLOCKS), await fs.exists(linkOf('u1')), loops.devices.size]).toEqual([false, false, 0]);
    expect(tools.calls.some((call) => call.includes('--logout'))).toBe(true);
  });

  it('an iSCSI block volume stays in use while its device is open on the machine, so that no controller detaches it', async () => {
    const { fs, clock, signal, start } = makeIscsi({}, { volumeMode: 'Block' });
    const { manager, mount } = await start();
    await mount(blockPod('u1'));
    const device = `/dev/disk/by-path/ip-${PORTAL}-iscsi-${IQN}-lun-3`;
    fs.devicesInUse.add(device);
    await manager.waitForUnmount(blockPod('u1'), signal);
    await clock.advance(5_000);
    expect(manager.volumesInUse()).toHaveLength(1);
    fs.devicesInUse.delete(device);
    await clock.advance(10_000);
    expect([manager.volumesInUse(), await fs.exists(BLOCKS)]).toEqual([[], false]);
  });
});
