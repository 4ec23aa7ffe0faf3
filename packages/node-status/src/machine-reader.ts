import { errorCode, type FileSystem } from '@node-agent/host';
import { NodeStatusError } from './errors.ts';
import {
  cpuListLength,
  type HugePages,
  hugePageSizeBytes,
  type MachineInfo,
  meminfoBytes,
  osImageOf,
} from './machine-info.ts';

/** The file system methods that {@link readMachineInfo} needs. */
export type MachineFiles = Pick<FileSystem, 'readFile' | 'readdir'>;

const MACHINE_ID = ['/etc/machine-id', '/var/lib/dbus/machine-id'];
const SYSTEM_UUID = [
  '/sys/class/dmi/id/product_uuid',
  '/proc/device-tree/system-id',
  '/proc/device-tree/vm,uuid',
  '/etc/machine-id',
];
const OS_RELEASE = ['/etc/os-release', '/usr/lib/os-release'];
const HUGE_PAGES = '/sys/kernel/mm/hugepages';

/**
 * Reads data about the machine from the kernel, as cAdvisor does (`machine/info.go`, `utils/sysfs`).
 * @throws NodeStatusError `MachineUnreadable` if memory or CPUs are unknown: a node that reports neither would get no
 * pods
 */
export async function readMachineInfo(fs: MachineFiles): Promise<MachineInfo> {
  const meminfo = await required(fs, '/proc/meminfo');
  const memoryBytes = meminfoBytes(meminfo, 'MemTotal');
  if (memoryBytes === undefined) throw unreadable('/proc/meminfo', 'has no MemTotal');
  const online = await required(fs, '/sys/devices/system/cpu/online');
  const cpuCount = cpuListLength(online);
  if (cpuCount === undefined)
    throw unreadable('/sys/devices/system/cpu/online', `is no list of CPUs: ${online.trim()}`);
  return {
    machineId: (await firstOf(fs, MACHINE_ID)) ?? '',
    systemUuid: (await firstOf(fs, SYSTEM_UUID)) ?? '',
    bootId: (await firstOf(fs, ['/proc/sys/kernel/random/boot_id'])) ?? '',
    kernelVersion: (await firstOf(fs, ['/proc/sys/kernel/osrelease'])) ?? 'Unknown',
    osImage: osImageOf((await firstOf(fs, OS_RELEASE)) ?? 'PRETTY_NAME=Unknown'),
    cpuCount,
    memoryBytes,
    swapBytes: meminfoBytes(meminfo, 'SwapTotal') ?? 0,
    hugePages: await readHugePages(fs),
  };
}

async function readHugePages(fs: MachineFiles): Promise<readonly HugePages[]> {
  const pages: HugePages[] = [];
  for (const { name } of await entriesOf(fs, HUGE_PAGES)) {
    const pageSizeBytes = hugePageSizeBytes(name);
    if (pageSizeBytes === undefined) continue;
    const path = `${HUGE_PAGES}/${name}/nr_hugepages`;
    const text = (await required(fs, path)).trim();
    if (!/^\d+$/.test(text)) throw unreadable(path, `is no number: ${JSON.stringify(text)}`);
    pages.push({ pageSizeBytes, count: Number(text) });
  }
  return pages;
}

async function entriesOf(fs: MachineFiles, path: string): Promise<readonly { readonly name: string }[]> {
  try {
    return await fs.readdir(path);
  } catch (error) {
    // A kernel without huge pages does not have this directory.
    if (errorCode(error) === 'ENOENT') return [];
    throw unreadable(path, 'cannot be read', error);
  }
}

async function required(fs: MachineFiles, path: string): Promise<string> {
  try {
    return new TextDecoder().decode(await fs.readFile(path));
  } catch (error) {
    throw unreadable(path, 'cannot be read', error);
  }
}

/** Returns the content of the first readable file, without surrounding whitespace and zero bytes. */
async function firstOf(fs: MachineFiles, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    try {
      return new TextDecoder()
        .decode(await fs.readFile(path))
        .replaceAll('\0', '')
        .trim();
    } catch {
      // The file does not exist on this machine, so the next path is tried. The caller handles the case that none
      // exists.
    }
  }
  return undefined;
}

function unreadable(path: string, why: string, cause?: unknown): NodeStatusError {
  const detail = cause instanceof Error ? `: ${cause.message}` : '';
  return new NodeStatusError('MachineUnreadable', `${path} ${why}${detail}`, { cause });
}
