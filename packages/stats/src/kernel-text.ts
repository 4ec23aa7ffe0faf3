import type { PsiData, PsiStats } from './summary.ts';

function linesOf(text: string | undefined): readonly string[] {
  return text?.split('\n') ?? [];
}

/** Parses a count as the kernel writes it; `undefined` if the text is not a count. */
export function count(text: string | undefined): number | undefined {
  const digits = text?.trim();
  return digits !== undefined && /^\d+$/.test(digits) ? Number(digits) : undefined;
}

/** Parses a limit; `Infinity` for `max`, -1, and cgroup v1's value for no limit. */
export function limit(text: string | undefined): number | undefined {
  const trimmed = text?.trim();
  if (trimmed === 'max' || trimmed === '-1') return Number.POSITIVE_INFINITY;
  const value = count(trimmed);
  // The kernel rounds the largest number to pages (`isMemoryUnlimited`, `pkg/kubelet/stats/helper.go`).
  return value !== undefined && value > 2 ** 62 ? Number.POSITIVE_INFINITY : value;
}

/** Parses lines of a name and a count: `cpu.stat`, `memory.stat`, `memory.events`. */
export function keyedCounts(text: string | undefined): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of linesOf(text)) {
    const space = line.indexOf(' ');
    const value = space > 0 ? count(line.slice(space + 1)) : undefined;
    if (value !== undefined) counts.set(line.slice(0, space), value);
  }
  return counts;
}

/** Parses `cpu.pressure` and similar files; `undefined` if the kernel has none, or the line `some` is incomplete. */
export function pressure(text: string | undefined): PsiStats | undefined {
  const lines = new Map<string, PsiData>();
  for (const line of linesOf(text)) {
    const match = /^(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)$/.exec(line);
    if (match === null) continue;
    const [, kind = '', ...figures] = match;
    const [avg10 = 0, avg60 = 0, avg300 = 0, total = 0] = figures.map(Number);
    lines.set(kind, { total, avg10, avg60, avg300 });
  }
  const some = lines.get('some');
  if (some === undefined) return undefined;
  // Older kernels have no `full` line for the CPU.
  return { full: lines.get('full') ?? { total: 0, avg10: 0, avg60: 0, avg300: 0 }, some };
}

/** I/O of a cgroup on one device. */
export interface DeviceIo {
  readonly major: number;
  readonly minor: number;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** Parses cgroup v2's `io.stat`, with one line per device. */
export function ioStat(text: string | undefined): readonly DeviceIo[] {
  return linesOf(text).flatMap((line) => {
    const [, major, minor, rest] = /^(\d+):(\d+)((?: \S+)*)$/.exec(line) ?? [];
    if (rest === undefined) return [];
    const values = new Map(rest.split(' ').map((pair) => pair.split('=') as [string, string | undefined]));
    const of = (name: string): number => count(values.get(name)) ?? 0;
    const io = { readBytes: of('rbytes'), writeBytes: of('wbytes'), reads: of('rios'), writes: of('wios') };
    return [{ major: Number(major), minor: Number(minor), ...io }];
  });
}

/** Parses cgroup v1's `blkio` files, with one line per device and operation: one file for bytes, one for requests. */
export function blkioStat(bytes: string | undefined, requests: string | undefined): readonly DeviceIo[] {
  const devices = new Map<string, { -readonly [K in keyof DeviceIo]: DeviceIo[K] }>();
  const add = (text: string | undefined, read: 'readBytes' | 'reads', write: 'writeBytes' | 'writes'): void => {
    for (const line of linesOf(text)) {
      const [, major, minor, operation, value] = /^(\d+):(\d+) (Read|Write) (\d+)$/.exec(line) ?? [];
      if (major === undefined) continue;
      const key = `${major}:${minor}`;
      const none = { readBytes: 0, writeBytes: 0, reads: 0, writes: 0 };
      const device = devices.get(key) ?? { major: Number(major), minor: Number(minor), ...none };
      device[operation === 'Read' ? read : write] += Number(value);
      devices.set(key, device);
    }
  };
  add(bytes, 'readBytes', 'writeBytes');
  add(requests, 'reads', 'writes');
  return [...devices.values()];
}

/** Traffic of one network interface. */
export interface InterfaceFigures {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/**
 * Interfaces that do not represent the namespace's own traffic (`isIgnoredDevice` of cAdvisor): loopback, and peers of
 * other namespaces' interfaces.
 */
const IGNORED = /^(?:lo|veth|docker|nerdctl)/i;

/** Parses `/proc/<pid>/net/dev`; `undefined` if any line is malformed, because the rest is then not reliable either. */
export function netDev(text: string | undefined): readonly InterfaceFigures[] | undefined {
  if (text === undefined) return undefined;
  const interfaces: InterfaceFigures[] = [];
  for (const line of text.split('\n').slice(2)) {
    if (line === '') continue;
    const colon = line.lastIndexOf(':');
    const name = line.slice(0, colon).trim();
    const values = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(count);
    if (name === '' || values.length !== 16 || values.includes(undefined)) return undefined;
    if (IGNORED.test(name)) continue;
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0] = values;
    const [txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = values.slice(8);
    interfaces.push({ name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped });
  }
  return interfaces;
}

/** Parses the number of threads from `/proc/loadavg`: `1.36 3.49 4.53 2/3518 3715089`. */
export function taskCount(loadavg: string | undefined): number | undefined {
  return count(loadavg?.trim().split(/\s+/)[3]?.split('/')[1]);
}

/** Parses the boot time from `/proc/stat`, in ms since the Unix epoch. */
export function bootTimeMs(stat: string | undefined): number | undefined {
  const seconds = count(stat?.match(/^btime (\d+)$/m)?.[1]);
  return seconds === undefined ? undefined : seconds * 1000;
}

/**
 * Parses the cgroup of a process from `/proc/<pid>/cgroup`; on v1 only if the cpu and memory hierarchies agree
 * (`getContainer`, `pkg/kubelet/cm`).
 */
export function groupOfProcess(text: string | undefined, version: 1 | 2): string | undefined {
  const groups = new Map<string, string>();
  for (const line of linesOf(text)) {
    const [, controllers = '', path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path !== undefined) for (const controller of controllers.split(',')) groups.set(controller, path);
  }
  if (version === 2) return groups.get('');
  const cpu = groups.get('cpu');
  if (cpu === undefined || cpu !== groups.get('memory')) return undefined;
  return groups.get('name=systemd') ?? cpu;
}
