import type { StatsComponents } from './ports.ts';

/** Description of the machine. Unknown values are 0 or ''. */
export interface MachineFigures {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osVersion: string;
  readonly cpus: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
}

type Files = Pick<StatsComponents['fs'], 'readFile' | 'readdir'>;

const CPUS = '/sys/devices/system/cpu';

/** Reads the description of the machine, as cAdvisor does (`machine/info.go`, `machine/machine.go`). */
export async function readMachineFigures(fs: Files): Promise<MachineFigures> {
  const read = async (path: string): Promise<string> => {
    try {
      return new TextDecoder()
        .decode(await fs.readFile(path))
        .replaceAll('\0', '')
        .trim();
    } catch {
      // A file that cannot be read counts as empty, because every machine lacks some of these files.
      return '';
    }
  };
  const first = async (...paths: readonly string[]): Promise<string> => {
    for (const path of paths) {
      const text = await read(path);
      if (text !== '') return text;
    }
    return '';
  };
  const [stat, meminfo, osRelease] = await Promise.all([
    read('/proc/stat'),
    read('/proc/meminfo'),
    first('/etc/os-release', '/usr/lib/os-release'),
  ]);
  const memory = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(meminfo)?.[1] ?? 0) * 1024;
  const names = (await fs.readdir(CPUS).catch(() => []))
    .map(({ name }) => name)
    .filter((name) => /^cpu\d+$/.test(name));
  const topology = await Promise.all(
    names.map(async (name) => ({
      socket: await read(`${CPUS}/${name}/topology/physical_package_id`),
      core: await read(`${CPUS}/${name}/topology/core_id`),
    })),
  );
  const known = topology.filter(({ socket, core }) => socket !== '' && core !== '');
  return {
    machineId: await first('/etc/machine-id', '/var/lib/dbus/machine-id'),
    systemUuid: await first('/sys/class/dmi/id/product_uuid', '/proc/device-tree/vm,uuid', '/etc/machine-id'),
    bootId: await read('/proc/sys/kernel/random/boot_id'),
    kernelVersion: await read('/proc/sys/kernel/osrelease'),
    osVersion: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? 'Unknown',
    cpus: [...stat.matchAll(/^cpu\d+ /gm)].length,
    physicalCores: new Set(known.map(({ socket, core }) => `${socket}:${core}`)).size,
    sockets: new Set(known.map(({ socket }) => socket)).size,
    memoryBytes: memory('MemTotal'),
    swapBytes: memory('SwapTotal'),
  };
}
