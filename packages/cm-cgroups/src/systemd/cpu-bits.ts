import { CgroupError } from '../errors.ts';

/** Exceeds the highest CPU number of any machine; larger numbers make a list invalid. */
const MAX_CPU = 65_535;

/**
 * Converts a CPU list as in `cpuset.cpus` (`0-3,8`) to systemd's form: one bit per CPU, least significant byte first
 * (`RangeToBits` in `systemd/cpuset.go` of opencontainers/cgroups).
 * @throws CgroupError `Refused` if the list is invalid or empty
 */
export function cpuBits(list: string): Uint8Array {
  const bytes: number[] = [];
  for (const part of list.split(',').map((text) => text.trim())) {
    if (part === '') continue;
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (match === null || first > last || last > MAX_CPU) throw invalid(list);
    for (let cpu = first; cpu <= last; cpu++) {
      const at = cpu >> 3;
      bytes[at] = (bytes[at] ?? 0) | (1 << (cpu & 7));
    }
  }
  if (bytes.length === 0) throw invalid(list);
  return Uint8Array.from(bytes);
}

function invalid(list: string): CgroupError {
  return new CgroupError('Refused', `${JSON.stringify(list)} must be a list of CPUs`);
}
