import { parseQuantity } from '@node-agent/pod-spec';

/** CPU in thousandths of a CPU, and memory in bytes. */
export interface Usage {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

/**
 * Returns the usage by name from the output of `kubectl top`. Names without usage (`<unknown>`) are omitted.
 */
export function topUsage(text: string): ReadonlyMap<string, Usage> {
  const [heading = [], ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const [cpu, memory] = [heading.indexOf('CPU(cores)'), heading.indexOf('MEMORY(bytes)')];
  return new Map(
    rows.flatMap((row) => {
      const usage = usageIn(row[cpu], row[memory]);
      return usage === undefined ? [] : [[row[0] ?? '', usage] as const];
    }),
  );
}

function usageIn(cpu: string | undefined, memory: string | undefined): Usage | undefined {
  if (!/^\d+m?$/.test(cpu ?? '') || !/^\d+[KMGT]i$/.test(memory ?? '')) return undefined;
  return {
    cpuMillis: Number(parseQuantity(cpu ?? '').milliValue()),
    memoryBytes: Number(parseQuantity(memory ?? '').value()),
  };
}

const MIB = 2 ** 20;

/**
 * Returns how the shown usage differs from the expected one, beyond rounding: kubectl shows whole thousandths of a CPU
 * and whole MiB, and the CPU usage is measured between two scrapes whose times are slightly inexact.
 */
export function usageProblems(
  shown: ReadonlyMap<string, Usage>,
  expected: ReadonlyMap<string, Usage>,
): readonly string[] {
  return [...expected].flatMap(([name, { cpuMillis, memoryBytes }]) => {
    const found = shown.get(name);
    if (found === undefined) return [`${name}: has no usage`];
    const isCpuRight = Math.abs(found.cpuMillis - cpuMillis) <= Math.max(1, 0.02 * cpuMillis);
    const isMemoryRight = Math.abs(found.memoryBytes - memoryBytes) <= MIB;
    return [
      ...(isCpuRight ? [] : [`${name}: CPU is ${found.cpuMillis}m, expected ${cpuMillis}m`]),
      ...(isMemoryRight ? [] : [`${name}: memory is ${inMib(found.memoryBytes)}, expected ${inMib(memoryBytes)}`]),
    ];
  });
}

function inMib(bytes: number): string {
  return `${bytes / MIB}Mi`;
}
