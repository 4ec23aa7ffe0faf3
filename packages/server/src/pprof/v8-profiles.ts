import type { HeapProfiler, Profiler, Runtime } from 'node:inspector';
import type { Frame, Profile, Sample } from './profile.ts';

const NANOSECONDS_PER_MICROSECOND = 1000;
/** V8's name for the time that the thread waits without using CPU time. */
const IDLE = '(idle)';
const ROOT = '(root)';

/**
 * Converts a V8 CPU profile into pprof's model. Idle time is left out, as in Go's profiles. The time between two
 * samples is attributed to the stack of the first sample.
 * @param intervalMs the intended interval between samples
 */
export function cpuProfileOf(profile: Profiler.Profile, timeMs: number, intervalMs: number): Profile {
  const { nodes, startTime, endTime, samples: taken = [], timeDeltas = [] } = profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const counted = new Map<number, { count: number; microseconds: number }>();
  let at = startTime;
  for (const [index, id] of taken.entries()) {
    at += timeDeltas[index] ?? 0;
    const next = timeDeltas[index + 1];
    const lasted = next === undefined ? endTime - at : next;
    const total = counted.get(id) ?? { count: 0, microseconds: 0 };
    counted.set(id, { count: total.count + 1, microseconds: total.microseconds + Math.max(lasted, 0) });
  }
  const samples: Sample[] = [];
  for (const [id, { count, microseconds }] of counted) {
    const stack: Frame[] = [];
    for (let node = byId.get(id); node !== undefined; node = byId.get(parents.get(node.id) ?? -1)) {
      if (node.callFrame.functionName !== ROOT) stack.push(frameOf(node.callFrame));
    }
    if (stack.length === 0 || stack[0]?.name === IDLE) continue;
    samples.push({ stack, values: [count, microseconds * NANOSECONDS_PER_MICROSECOND] });
  }
  return {
    sampleTypes: [
      { type: 'samples', unit: 'count' },
      { type: 'cpu', unit: 'nanoseconds' },
    ],
    defaultType: 'cpu',
    period: { type: 'cpu', unit: 'nanoseconds', value: intervalMs * 1e6 },
    timeMs,
    durationMs: (endTime - startTime) / 1000,
    samples,
  };
}

/** The memory that a heap profile counts: memory in use, or all allocations. */
export type HeapSpace = 'inuse_space' | 'alloc_space';

/** Converts a V8 sampling heap profile into pprof's model: bytes by place of allocation. V8 does not count objects. */
export function heapProfileOf(
  { head }: HeapProfiler.SamplingHeapProfile,
  space: HeapSpace,
  timeMs: number,
  intervalBytes: number,
): Profile {
  const samples: Sample[] = [];
  const visit = (node: HeapProfiler.SamplingHeapProfileNode, callers: readonly Frame[]): void => {
    const isRoot = node.callFrame.functionName === ROOT;
    const stack = isRoot ? callers : [frameOf(node.callFrame), ...callers];
    // Allocations by V8 itself belong to no function.
    if (node.selfSize > 0) samples.push({ stack: isRoot ? [ENGINE] : stack, values: [node.selfSize] });
    for (const child of node.children) visit(child, stack);
  };
  visit(head, []);
  return {
    sampleTypes: [{ type: space, unit: 'bytes' }],
    defaultType: space,
    period: { type: 'space', unit: 'bytes', value: intervalBytes },
    timeMs,
    samples,
  };
}

const ENGINE: Frame = { name: '(V8)', file: '', line: 0 };

function frameOf({ functionName, url, lineNumber }: Runtime.CallFrame): Frame {
  return {
    name: functionName || '(anonymous)',
    file: url.replace(/^file:\/\//, ''),
    line: Math.max(lineNumber + 1, 0),
  };
}
