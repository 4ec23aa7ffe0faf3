import { describe, expect, it } from 'vitest';
import { deltaOf } from '../src/pprof/profile.ts';
import { cpuProfileOf, heapProfileOf } from '../src/pprof/v8-profiles.ts';
import { frame, profile } from './profiles.ts';

describe('V8 profiles', () => {
  const callFrame = (functionName: string) => ({
    functionName,
    scriptId: '1',
    url: 'file:///a.js',
    lineNumber: 4,
    columnNumber: 0,
  });
  const node = (id: number, name: string, children: number[] = []) => ({
    id,
    callFrame: callFrame(name),
    hitCount: 0,
    children,
  });

  it('a CPU profile attributes CPU time to its functions, and excludes idle time', () => {
    const nodes = [node(1, '(root)', [2, 4]), node(2, 'outer', [3]), node(3, ''), node(4, '(idle)')];
    const taken = {
      nodes,
      startTime: 1000,
      endTime: 101_000,
      samples: [2, 3, 4, 3],
      timeDeltas: [10_000, 20_000, 30_000, 25_000],
    };
    const { samples, durationMs, period } = cpuProfileOf(taken, 5, 10);
    const outer = { name: 'outer', file: '/a.js', line: 5 };
    expect(samples).toEqual([
      { stack: [outer], values: [1, 20_000_000] },
      { stack: [{ name: '(anonymous)', file: '/a.js', line: 5 }, outer], values: [2, 45_000_000] },
    ]);
    expect(durationMs).toBe(100);
    expect(period).toEqual({ type: 'cpu', unit: 'nanoseconds', value: 10_000_000 });
  });

  it('a heap profile attributes bytes to the allocating functions', () => {
    const leaf = { callFrame: callFrame('leaf'), selfSize: 100, id: 3, children: [] };
    const caller = { callFrame: callFrame('caller'), selfSize: 0, id: 2, children: [leaf] };
    const head = { callFrame: callFrame('(root)'), selfSize: 7, id: 1, children: [caller] };
    const { samples } = heapProfileOf({ head }, 'inuse_space', 1, 512);
    expect(samples.map(({ stack, values }) => [stack.map(({ name }) => name), values])).toEqual([
      [['(V8)'], [7]],
      [['leaf', 'caller'], [100]],
    ]);
  });

  it('profiles name their sample types', () => {
    const node = (id: number, functionName: string, children: number[] = []) => ({
      ...{ id, children, callFrame: callFrame(functionName) },
    });
    const nodes = [node(1, '(root)', [2]), node(2, 'f')];
    const cpu = cpuProfileOf({ nodes, startTime: 0, endTime: 10, samples: [2, 2], timeDeltas: [10, 0] }, 7, 2);
    expect(cpu).toMatchObject({
      sampleTypes: [
        { type: 'samples', unit: 'count' },
        { type: 'cpu', unit: 'nanoseconds' },
      ],
      ...{ defaultType: 'cpu', period: { type: 'cpu', unit: 'nanoseconds', value: 2e6 }, timeMs: 7, durationMs: 0.01 },
    });
    // A sample without duration is counted with 0 time.
    expect(cpu.samples.map(({ values }) => values)).toEqual([[2, 0]]);
    const head = { callFrame: { ...callFrame('(root)'), lineNumber: -1 }, selfSize: 1, id: 1, children: [] };
    expect(heapProfileOf({ head }, 'alloc_space', 7, 512)).toEqual({
      sampleTypes: [{ type: 'alloc_space', unit: 'bytes' }],
      ...{ defaultType: 'alloc_space', period: { type: 'space', unit: 'bytes', value: 512 }, timeMs: 7 },
      samples: [{ stack: [{ name: '(V8)', file: '', line: 0 }], values: [1] }],
    });
    const native = { ...head, callFrame: { ...callFrame('native'), lineNumber: -1 } };
    expect(heapProfileOf({ head: native }, 'alloc_space', 7, 512).samples[0]?.stack[0]?.line).toBe(0);
  });

  it('a delta profile contains only samples that changed', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => [frame(name)]);
    const before = profile([
      { stack: a ?? [], values: [10, 1] },
      { stack: b ?? [], values: [5, 0] },
      { stack: [frame('a', 2)], values: [3, 3] },
    ]);
    const after = profile(
      [
        { stack: a ?? [], values: [30, 1] },
        { stack: [frame('a', 2)], values: [3, 3] },
        { stack: c ?? [], values: [1, 0] },
        { stack: c ?? [], values: [1, 0] },
      ],
      3000,
    );
    expect(deltaOf(before, after)).toEqual({
      ...{ ...after, durationMs: 2000 },
      samples: [
        { stack: a, values: [20, 0] },
        { stack: b, values: [-5, 0] },
        { stack: c, values: [2, 0] },
      ],
    });
  });
});
