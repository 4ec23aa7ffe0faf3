import { isIPv6 } from 'node:net';
import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { readDirectory } from '../../paths/volumes-on-disk.ts';

/** File operations on /sys. The operations do not hang, because the kernel serves /sys from memory. */
export type SysFiles = Pick<FileSystem, 'open' | 'readdir' | 'exists'>;

const HOSTS = '/sys/class/iscsi_host';
const LIMIT_BYTES = 4096;

/** An iSCSI session between the kernel and a target. */
export interface IscsiSession {
  /** Number of the SCSI host. */
  readonly host: number;
  /** Directory of the session in /sys. */
  readonly path: string;
  /** Portals of the session, with port. */
  readonly portals: readonly string[];
}

/**
 * Returns the sessions with a target (`GetISCSIPortalHostMapForTarget` of `pkg/volume/util/device_util_linux.go`). A
 * session that disappears during the call is left out.
 */
export async function iscsiSessions(fs: SysFiles, iqn: string): Promise<readonly IscsiSession[]> {
  const found: IscsiSession[] = [];
  for (const { name } of await readDirectory(fs, HOSTS)) {
    const [, number] = /^host(\d+)$/.exec(name) ?? [];
    if (number === undefined) continue;
    const device = `${HOSTS}/${name}/device`;
    for (const session of await namesIn(fs, device, 'session')) {
      const path = `${device}/${session}`;
      if ((await textOf(fs, `${path}/iscsi_session/${session}/targetname`)) !== iqn) continue;
      found.push({ host: Number(number), path, portals: await portalsOf(fs, path) });
    }
  }
  return found;
}

/** Returns the names of the block devices of a logical unit (`FindDevicesForISCSILun`). */
export async function devicesOfLun(fs: SysFiles, iqn: string, lun: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { host, path } of await iscsiSessions(fs, iqn)) {
    const [device] = await readDirectory(fs, `${path}/target${host}:0:0/${host}:0:0:${lun}/block`);
    if (device !== undefined) found.push(device.name);
  }
  return found;
}

async function portalsOf(fs: SysFiles, session: string): Promise<readonly string[]> {
  const portals: string[] = [];
  for (const connection of await namesIn(fs, session, 'connection')) {
    const path = `${session}/${connection}/iscsi_connection/${connection}`;
    for (const prefix of ['', 'persistent_']) {
      const address = await textOf(fs, `${path}/${prefix}address`);
      const port = await textOf(fs, `${path}/${prefix}port`);
      if (address && port) portals.push(`${isIPv6(address) ? `[${address}]` : address}:${port}`);
    }
  }
  return portals;
}

async function namesIn(fs: SysFiles, directory: string, prefix: string): Promise<readonly string[]> {
  const entries = await readDirectory(fs, directory);
  return entries.map(({ name }) => name).filter((name) => name.startsWith(prefix));
}

async function textOf(fs: SysFiles, path: string): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await readFileBounded(fs, path, LIMIT_BYTES)).trim();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
