import { basename, dirname, join } from 'node:path';
import { type Clock, KeyedMutex, sleep } from '@node-agent/async';
import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { VolumeError } from '../../errors.ts';
import type { VolumeSpec } from '../../manager/resolved-volume.ts';
import type { VolumeSecrets } from '../../projected/sources.ts';
import { BLOCK_VOLUMES } from '../disk-directories.ts';
import type { DiskTools } from '../disk-tools.ts';
import { multipathOf } from '../multipath.ts';
import type { DiskSource, NetworkDisks } from '../network-disk.ts';
import {
  type ConnectedIscsiDisk,
  diskOfNames,
  formatIscsiFile,
  ISCSI,
  type IscsiDisk,
  iscsiSource,
  parseIscsiFile,
  requiredIscsiDisk,
} from './iscsi-disk.ts';
import { devicesOfLun, iscsiSessions } from './iscsi-sessions.ts';
import { type ChapSecret, Iscsiadm } from './iscsiadm.ts';
import { pathsFound, type Tried } from './path-rule.ts';

/** Dependencies of {@link IscsiDisks}. */
export interface IscsiDisksComponents {
  readonly fs: Pick<FileSystem, 'open' | 'readdir' | 'exists' | 'realpath' | 'writeFileAtomic'>;
  readonly tools: DiskTools;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Reads secrets with CHAP credentials; absent without an API server. */
  readonly secrets?: VolumeSecrets;
}

const FILE = 'iscsi.json';
const LIMIT_BYTES = 64 * 1024;
/** Maximum wait for the device of a target after the login, in seconds (`deviceDiscoveryTimeout`). */
const DEVICE_SECONDS = 30;
/** Maximum wait for a multipath device, in seconds (`multipathDeviceTimeout`). */
const MULTIPATH_SECONDS = 10;
const LINKS = '/dev/disk/by-path';

/** Connects iSCSI disks with iscsiadm(8) (`pkg/volume/iscsi/iscsi_util.go`). */
export class IscsiDisks implements NetworkDisks {
  readonly plugin: string = ISCSI;
  readonly #components: IscsiDisksComponents;
  readonly #iscsiadm: Iscsiadm;
  /** Serializes logins and logouts per target. */
  readonly #targets = new KeyedMutex<string>();

  constructor(components: IscsiDisksComponents) {
    this.#components = components;
    this.#iscsiadm = new Iscsiadm(components.tools);
  }

  source(spec: VolumeSpec): DiskSource | undefined {
    return iscsiSource(spec);
  }

  async connect(spec: VolumeSpec, namespace: string, directory: string, signal: AbortSignal): Promise<string> {
    const disk = requiredIscsiDisk(spec);
    const secret = await this.#secretOf(disk, namespace, signal);
    const transport = await this.#transportOf(disk, signal);
    if (disk.initiatorName !== '') await this.#iscsiadm.cloneInterface(disk, signal);
    // The file is written before the login, so that the next kubelet process can log out.
    await this.#components.fs.writeFileAtomic(join(directory, FILE), formatIscsiFile(disk), { mode: 0o640 });
    const devices = await this.#targets.run(disk.iqn, () => this.#attach(disk, transport, secret, signal), signal);
    const attempts = disk.portals.length > 1 ? MULTIPATH_SECONDS : 1;
    return (await this.#multipath(devices, attempts, signal)) ?? devices[0] ?? '';
  }

  async disconnect(names: readonly string[], directory: string, signal: AbortSignal): Promise<void> {
    const disk = (await this.#load(directory)) ?? diskOfNames(names);
    await this.#deleteDevices(disk, signal);
    await this.#targets.run(disk.iqn, () => this.#logout(disk, names, directory, signal), signal);
  }

  async #transportOf({ initIface }: IscsiDisk, signal: AbortSignal): Promise<string> {
    const settings = await this.#iscsiadm.interfaceSettings(initIface, signal);
    return settings.get('iface.transport_name') ?? 'tcp';
  }

  /** Logs in at all portals and returns the paths of the devices, one per portal. @throws VolumeError */
  async #attach(
    disk: IscsiDisk,
    transport: string,
    secret: ChapSecret,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const devices = new Map<string, string>();
    let lastFailure = '';
    for (let tried: Tried = 'again', attempt = 1; tried === 'again'; attempt++) {
      for (const portal of disk.portals) {
        if (devices.has(portal)) continue;
        try {
          devices.set(portal, await this.#device(disk, portal, transport, secret, signal));
        } catch (error) {
          signal.throwIfAborted();
          lastFailure = errorText(error);
        }
      }
      tried = pathsFound(devices.size, disk.portals.length, attempt);
    }
    if (devices.size > 0) return [...devices.values()];
    if (disk.initiatorName !== '') await this.#iscsiadm.deleteInterface(disk.iface, signal).catch(() => undefined);
    throw new VolumeError('MountFailed', `failed to get any path for iscsi disk, last err seen: ${lastFailure}`);
  }

  async #device(
    disk: IscsiDisk,
    portal: string,
    transport: string,
    secret: ChapSecret,
    signal: AbortSignal,
  ): Promise<string> {
    const { iqn, lun } = disk;
    let host = await this.#hostOf(iqn, portal);
    if (host === undefined) {
      await this.#iscsiadm.login(disk, portal, secret, signal);
      host = await this.#hostOf(iqn, portal);
    }
    if (host === undefined) throw new Error(`no SCSI host for portal ${portal} after logging in`);
    // Scans only this LUN, so that the kernel adds no other device of the target.
    await this.#components.tools.write(`/sys/class/scsi_host/host${host}/scan`, `0 0 ${lun}`, signal);
    return await this.#awaitLink(`ip-${portal.replace(/[[\]]/g, '')}-iscsi-${iqn}-lun-${lun}`, transport, signal);
  }

  async #hostOf(iqn: string, portal: string): Promise<number | undefined> {
    const sessions = await iscsiSessions(this.#components.fs, iqn);
    return sessions.find(({ portals }) => portals.includes(portal))?.host;
  }

  /**
   * Waits until udev has created the link to the device. With an offload card, the link's name begins with the card's
   * address.
   */
  async #awaitLink(name: string, transport: string, signal: AbortSignal): Promise<string> {
    const { fs, clock } = this.#components;
    const isIt = (entry: string): boolean =>
      transport === 'tcp' ? entry === name : entry.startsWith('pci-') && entry.endsWith(`-${name}`);
    for (let second = 0; second < DEVICE_SECONDS; second++) {
      if (second > 0) await sleep(clock, 1000, signal);
      const entries = await fs.readdir(LINKS).catch(() => []);
      const found = entries.find((entry) => isIt(entry.name));
      if (found !== undefined) return `${LINKS}/${found.name}`;
    }
    throw new Error(`Timed out waiting for device at path ${LINKS}/${name} after ${DEVICE_SECONDS}s`);
  }

  async #multipath(devices: readonly string[], attempts: number, signal: AbortSignal): Promise<string | undefined> {
    const { fs, clock } = this.#components;
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await sleep(clock, 1000, signal);
      for (const device of devices) {
        const mapped = await multipathOf(fs, device);
        if (mapped !== undefined) return mapped;
      }
    }
    return undefined;
  }

  /**
   * Removes the devices of a disk from the kernel. A failure is only logged, because the logout may still remove the
   * device.
   */
  async #deleteDevices({ iqn, lun }: ConnectedIscsiDisk, signal: AbortSignal): Promise<void> {
    const { fs, tools, logger } = this.#components;
    const devices = await devicesOfLun(fs, iqn, lun);
    const maps = await Promise.all(devices.map((name) => multipathOf(fs, `/dev/${name}`)));
    for (const map of new Set(maps.filter((path) => path !== undefined))) {
      const { exitCode, output } = await tools.run('multipath', ['-f', map], map, signal);
      if (exitCode !== 0) logger.warn({ device: map, exitCode, output }, 'Failed to flush a multipath device');
    }
    for (const device of devices) {
      await tools.write(`/sys/block/${device}/device/delete`, '1', signal).catch((err: unknown) => {
        signal.throwIfAborted();
        logger.warn({ err, device }, 'Failed to delete a block device');
      });
    }
  }

  /** Logs out if no other volume uses the target. */
  async #logout(
    { portals, iqn, iface, volumeName, initiatorName }: ConnectedIscsiDisk,
    names: readonly string[],
    directory: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (await this.#isBusy(`${portals[0]}-${iqn}`, names, directory)) return;
    for (const portal of new Set(portals)) await this.#iscsiadm.logout(portal, iqn, iface, signal);
    if (initiatorName !== '' && iface === `${portals[0]}:${volumeName}`) {
      await this.#iscsiadm.deleteInterface(iface, signal);
    }
  }

  /** Returns whether another mounted or block volume uses the target (`isSessionBusy`). */
  async #isBusy(prefix: string, names: readonly string[], directory: string): Promise<boolean> {
    const { fs } = this.#components;
    const above = directory.slice(0, -names.join('/').length - 1);
    const root = basename(above) === BLOCK_VOLUMES ? dirname(above) : above;
    for (const base of [root, join(root, BLOCK_VOLUMES)]) {
      const interfaces = await fs.readdir(base).catch(ifMissing);
      for (const { name, kind } of interfaces) {
        if (kind !== 'directory' || name === BLOCK_VOLUMES) continue;
        const disks = await fs.readdir(join(base, name)).catch(ifMissing);
        const others = disks.map((disk) => join(base, name, disk.name)).filter((path) => path !== directory);
        if (others.some((path) => path.slice(join(base, name).length + 1).startsWith(prefix))) return true;
      }
    }
    return false;
  }

  async #load(directory: string): Promise<ConnectedIscsiDisk | undefined> {
    const bytes = await readFileBounded(this.#components.fs, join(directory, FILE), LIMIT_BYTES).catch(() => undefined);
    return bytes && parseIscsiFile(new TextDecoder().decode(bytes));
  }

  /** @throws VolumeError `MissingObject` */
  async #secretOf(
    { secret, chapDiscovery, chapSession }: IscsiDisk,
    podNamespace: string,
    signal: AbortSignal,
  ): Promise<ChapSecret> {
    if (secret === undefined || !(chapDiscovery || chapSession)) return {};
    const { namespace = podNamespace, name } = secret;
    const failed = (why: string, cause?: unknown): VolumeError =>
      new VolumeError('MissingObject', `couldn't get secret ${namespace}/${name} error: ${why}`, cause);
    const { secrets } = this.#components;
    if (secrets === undefined) throw failed('cannot get kube client');
    const found = await secrets(namespace, name, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw failed(errorText(error), error);
    });
    if (found === undefined) throw failed(`secrets "${name}" not found`);
    const { data = {} } = found;
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }
}

function ifMissing(error: unknown): [] {
  if (isMissing(error)) return [];
  throw error;
}
