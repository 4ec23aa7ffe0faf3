import os from 'node:os';
import type { FileSystem } from '@node-agent/host';
import { pageSize } from './page-size.ts';

/** Facts about the machine, read once when the kubelet starts. */
export interface Machine {
  readonly hostname: string;
  /** Kernel release, as printed by `uname -r`. */
  readonly kernelRelease: string;
  /** Whether AppArmor is enabled. */
  readonly appArmor: boolean;
  /** Whether SELinux is enabled. */
  readonly selinux: boolean;
  /** Default SELinux label of containers' files; absent if the machine has none. */
  readonly selinuxFileContext?: string;
  readonly cgroupVersion: 1 | 2;
  readonly cpus: number;
  /** Online CPUs as the kernel lists them, for example `0-3`. Empty if unknown. */
  readonly onlineCpus: string;
  /** Whether a swap device or file is in use. */
  readonly swapOn: boolean;
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
  /** Whether the kernel accounts swap per cgroup. */
  readonly swapControllerAvailable: boolean;
  /** Size of a memory page. */
  readonly pageSizeBytes: number;
  /** Huge page sizes in the notation of cgroup files: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Directories of sysfs that must be hidden from containers in addition to the default masked paths. */
  readonly extraMaskedPaths: readonly string[];
  /** IP addresses of the machine's network interfaces, without loopback and link-local addresses; IPv4 first. */
  readonly ips: readonly string[];
}

type Files = Pick<FileSystem, 'readFile' | 'readdir' | 'exists'>;

/**
 * Reads the properties of the machine that the kubelet needs. Values that the machine does not report are 0, empty or
 * absent.
 */
export async function readMachine(fs: Files): Promise<Machine> {
  const meminfo = await readText(fs, '/proc/meminfo');
  // selinuxfs is mounted only if SELinux is enabled. On cgroup v2, `cgroup.controllers` is at the root of the
  // hierarchy. On a hybrid machine, the root is a tmpfs without this file.
  const selinux = await fs.exists('/sys/fs/selinux/enforce');
  const selinuxFileContext = selinux ? await fileContext(fs) : undefined;
  const cgroupVersion = (await fs.exists('/sys/fs/cgroup/cgroup.controllers')) ? 2 : 1;
  return {
    hostname: os.hostname(),
    kernelRelease: os.release(),
    appArmor: await hasAppArmor(fs),
    selinux,
    ...(selinuxFileContext !== undefined && { selinuxFileContext }),
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

/** Returns one value of /proc/meminfo in bytes, or 0 if the value is missing. */
export function kibibytes(meminfo: string, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(meminfo);
  return match ? Number(match[1]) * 1024 : 0;
}

/**
 * Returns the default label of containers' files, from the SELinux policy's file of container contexts
 * (`ContainerLabels` of opencontainers/selinux).
 */
async function fileContext(fs: Files): Promise<string | undefined> {
  const [, policy] = /^SELINUXTYPE=[ \t]*(\S+)/m.exec(await readText(fs, '/etc/selinux/config')) ?? [];
  if (policy === undefined) return undefined;
  const contexts = await readText(fs, `/etc/selinux/${policy}/contexts/lxc_contexts`);
  const [, found] = /^file[ \t]*=[ \t]*"?([^"\s]+)"?/m.exec(contexts) ?? [];
  return found;
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

/**
 * Returns the directories in which the kernel reports thermal throttling per CPU. The directories are hidden from
 * containers, because they reveal activity of other workloads.
 */
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
    // Not every kernel has all of the files. The caller handles an empty text.
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
