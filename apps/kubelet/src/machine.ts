import os from 'node:os';
import type { FileSystem } from '@node-agent/host';
import { pageSize } from './page-size.ts';

/** What the kubelet has to know of the machine it runs on, read once at its start. */
export interface Machine {
  readonly hostname: string;
  /** As `uname -r` says it. */
  readonly kernelRelease: string;
  /** Whether the kernel has AppArmor, and it is on. */
  readonly appArmor: boolean;
  /** Whether the kernel has SELinux, and it is on. */
  readonly selinux: boolean;
  readonly cgroupVersion: 1 | 2;
  readonly cpus: number;
  /** The CPUs that are online, as the kernel lists them: `0-3`. Empty where it does not tell. */
  readonly onlineCpus: string;
  /** Whether anything is swapped to. */
  readonly swapOn: boolean;
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
  /** Whether the kernel accounts swap per cgroup. */
  readonly swapControllerAvailable: boolean;
  /** What memory is counted in. */
  readonly pageSizeBytes: number;
  /** Sizes of huge pages in the kernel's cgroup words: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Directories of sysfs that containers should not see beside the usual ones. */
  readonly extraMaskedPaths: readonly string[];
  /** Addresses of the machine's network interfaces, without loopback and link-local ones; IPv4 first. */
  readonly ips: readonly string[];
}

type Files = Pick<FileSystem, 'readFile' | 'readdir' | 'exists'>;

/** Reads the facts; what the machine does not tell is 0 or absent. */
export async function readMachine(fs: Files): Promise<Machine> {
  const meminfo = await readText(fs, '/proc/meminfo');
  // The unified hierarchy has this file at its root; on a hybrid machine that root is a tmpfs without it.
  const cgroupVersion = (await fs.exists('/sys/fs/cgroup/cgroup.controllers')) ? 2 : 1;
  return {
    hostname: os.hostname(),
    kernelRelease: os.release(),
    appArmor: await hasAppArmor(fs),
    // Its file system is mounted only where it is on.
    selinux: await fs.exists('/sys/fs/selinux/enforce'),
    cgroupVersion,
    cpus: os.availableParallelism(),
    onlineCpus: (await readText(fs, '/sys/devices/system/cpu/online')).trim(),
    swapOn: (await readText(fs, '/proc/swaps')).trim().split('\n').length > 1,
    memoryCapacityBytes: kibibytes(meminfo, 'MemTotal'),
    swapCapacityBytes: kibibytes(meminfo, 'SwapTotal'),
    swapControllerAvailable: await hasSwapController(fs, cgroupVersion),
    pageSizeBytes: pageSize(await fs.readFile('/proc/self/auxv').catch(() => new Uint8Array())),
    hugePageSizes: await hugePageSizes(fs),
    extraMaskedPaths: await thermalThrottlePaths(fs),
    ips: interfaceIps(),
  };
}

/** One value of /proc/meminfo, in bytes; 0 where it is not there. */
export function kibibytes(meminfo: string, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(meminfo);
  return match ? Number(match[1]) * 1024 : 0;
}

async function hasSwapController(fs: Files, cgroupVersion: 1 | 2): Promise<boolean> {
  if (cgroupVersion === 1) return await fs.exists('/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  const [, own = ''] = /^0::(.*)$/m.exec(await readText(fs, '/proc/self/cgroup')) ?? [];
  return await fs.exists(`/sys/fs/cgroup${own === '/' ? '' : own}/memory.swap.max`);
}

async function hasAppArmor(fs: Files): Promise<boolean> {
  if (!(await fs.exists('/sys/kernel/security/apparmor'))) return false;
  return (await readText(fs, '/sys/module/apparmor/parameters/enabled')).startsWith('Y');
}

async function hugePageSizes(fs: Files): Promise<readonly string[]> {
  const names = await entries(fs, '/sys/kernel/mm/hugepages');
  return names.flatMap((name) => {
    const size = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    if (size === 0) return [];
    if (size % 1024 ** 2 === 0) return [`${size / 1024 ** 2}GB`];
    return [size % 1024 === 0 ? `${size / 1024}MB` : `${size}KB`];
  });
}

/** The kernel tells how hot each CPU ran there, which says what its neighbours do. */
async function thermalThrottlePaths(fs: Files): Promise<readonly string[]> {
  const base = '/sys/devices/system/cpu';
  const cpus = (await entries(fs, base)).filter((name) => /^cpu\d+$/.test(name));
  const paths = cpus.map((cpu) => `${base}/${cpu}/thermal_throttle`);
  const there = await Promise.all(paths.map((path) => fs.exists(path)));
  return paths.filter((_path, index) => there[index]);
}

function interfaceIps(): readonly string[] {
  const all = Object.values(os.networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const usable = all.filter(({ internal, address }) => !internal && !/^(169\.254\.|fe80:)/i.test(address));
  const of = (family: string): string[] =>
    usable.filter((entry) => entry.family === family).map(({ address }) => address);
  return [...of('IPv4'), ...of('IPv6')];
}

async function readText(fs: Files, path: string): Promise<string> {
  try {
    return new TextDecoder().decode(await fs.readFile(path));
  } catch {
    // Not every kernel has every file; the caller knows what its absence means.
    return '';
  }
}

async function entries(fs: Files, path: string): Promise<readonly string[]> {
  try {
    return (await fs.readdir(path)).map(({ name }) => name).sort();
  } catch {
    return [];
  }
}
