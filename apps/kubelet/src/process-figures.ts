import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessFigures } from '@node-agent/telemetry';

/** Pages of memory: 4 KiB on every machine whose /proc/self/statm says otherwise in no other file. */
const PAGE_BYTES = 4096;

/** What this process and its /proc tell of it. */
export const processFigures: ProcessFigures = {
  memoryUsage: () => process.memoryUsage(),
  cpuUsage: () => process.cpuUsage(),
  systemUsage: () => {
    const limits = read('/proc/self/limits');
    const pages = Number(/^\d+/.exec(read('/proc/self/statm'))?.[0] ?? Number.NaN);
    return {
      openFiles: countEntries('/proc/self/fd'),
      maxOpenFiles: softLimit(limits, 'Max open files'),
      virtualBytes: Number.isNaN(pages) ? undefined : pages * PAGE_BYTES,
      maxVirtualBytes: softLimit(limits, 'Max address space'),
    };
  },
};

/** The soft one of a line of /proc/self/limits; `undefined` where there is no such line. */
export function softLimit(limits: string, name: string): number | undefined {
  const line = limits.split('\n').find((one) => one.startsWith(`${name} `));
  const [text] = line?.slice(name.length).trim().split(/\s+/) ?? [];
  if (text === undefined) return undefined;
  return text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}

/** '' where the system has no such file. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Without the one that the count itself opens. */
function countEntries(path: string): number | undefined {
  try {
    return readdirSync(path).length - 1;
  } catch {
    return undefined;
  }
}
