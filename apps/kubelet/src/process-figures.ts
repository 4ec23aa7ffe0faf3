import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessFigures } from '@node-agent/telemetry';
import { pageSize } from './page-size.ts';

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
      virtualBytes: Number.isNaN(pages) ? undefined : pages * pageBytes(),
      maxVirtualBytes: softLimit(limits, 'Max address space'),
    };
  },
};

let knownPageBytes: number | undefined;

function pageBytes(): number {
  knownPageBytes ??= pageSize(readBytes('/proc/self/auxv'));
  return knownPageBytes;
}

/** The soft one of a line of /proc/self/limits; `undefined` where there is no such line. */
export function softLimit(limits: string, name: string): number | undefined {
  const line = limits.split('\n').find((one) => one.startsWith(`${name} `));
  const [text] = line?.slice(name.length).trim().split(/\s+/) ?? [];
  if (text === undefined) return undefined;
  return text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}

/** '' where the system has no such file. */
function read(path: string): string {
  return readBytes(path).toString();
}

/** Empty where the system has no such file. */
function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
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
