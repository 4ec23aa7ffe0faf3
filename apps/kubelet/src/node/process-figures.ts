import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessFigures } from '@node-agent/telemetry';
import { pageSize } from './page-size.ts';

/** Resource usage of this process, from Node.js and /proc. */
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

/** Returns the soft limit from a line of /proc/self/limits, or `undefined` if the line is missing. */
export function softLimit(limits: string, name: string): number | undefined {
  const line = limits.split('\n').find((one) => one.startsWith(`${name} `));
  const [text] = line?.slice(name.length).trim().split(/\s+/) ?? [];
  if (text === undefined) return undefined;
  return text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}

/** Returns the text of a file, or '' if the file does not exist. */
function read(path: string): string {
  return readBytes(path).toString();
}

/** Returns the content of a file, or an empty buffer if the file does not exist. */
function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

/** Counts the entries of /proc/self/fd, except the descriptor that the count itself opens. */
function countEntries(path: string): number | undefined {
  try {
    return readdirSync(path).length - 1;
  } catch {
    return undefined;
  }
}
