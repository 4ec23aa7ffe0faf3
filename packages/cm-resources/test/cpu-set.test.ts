import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { CpuSet } from '../src/cpuset/cpu-set.ts';

test.each([
  ['', []],
  ['0', [0]],
  ['0-3,8', [0, 1, 2, 3, 8]],
  ['8,0-3', [0, 1, 2, 3, 8]],
  ['1-1', [1]],
  ['0-2,1-4', [0, 1, 2, 3, 4]],
])('CpuSet.parse reads %j', (text, cpus) => {
  expect(CpuSet.parse(text).list()).toEqual(cpus);
});

test.each([
  ['a', '"a" must be a CPU or a range of CPUs, such as 0-3'],
  ['1-', '"1-" must be a CPU or a range of CPUs, such as 0-3'],
  ['1,', '"" must be a CPU or a range of CPUs, such as 0-3'],
  ['3-1', 'invalid range "3-1" (3 > 1)'],
  ['0-99999999', 'CPU 99999999 must be at most 65535'],
])('CpuSet.parse rejects %j with an error that describes the problem', (text, message) => {
  expect(() => CpuSet.parse(text)).toThrow(message);
});

test('CpuSet.parse accepts ranges that overlap, up to four times all CPU ids', () => {
  expect(CpuSet.parse(Array(4).fill('0-65535').join()).size).toBe(65_536);
});

test.each([
  [
    'ranges of too many CPUs',
    `${'0-65535,'.repeat(4)}0`,
    'the ranges of a list must have at most 262144 CPUs in total',
  ],
  ['too many parts', Array(65_537).fill('0').join(), 'a list must have at most 65536 CPUs and ranges'],
  ['a long part', 'x'.repeat(10_000), `"${'x'.repeat(100)}"... (10000 characters) must be a CPU`],
])('CpuSet.parse rejects a list with %s, and the error is short', (_name, text, message) => {
  expect(() => CpuSet.parse(text)).toThrow(message);
});

const cpuLists = fc.array(fc.nat(40), { maxLength: 20 });

test('a CpuSet is written as a list that parses to the same set', () => {
  fc.assert(
    fc.property(cpuLists, (cpus) => {
      const set = CpuSet.of(cpus);
      expect(CpuSet.parse(`${set}`).equals(set)).toBe(true);
      const ends = `${set}`.split(',').map((range) => range.split('-').map(Number));
      // Ranges must not be adjacent: adjacent CPUs are written as one range.
      for (const [index, [from = 0]] of ends.entries()) expect(from - 1).not.toBe(ends[index - 1]?.at(-1));
    }),
  );
});

test('the text of a CpuSet is made only once', () => {
  const set = CpuSet.of([0, 1, 2, 8]);
  const join = vi.spyOn(Array.prototype, 'join');
  const texts = Array.from({ length: 5 }, () => `${set}`);
  const calls = join.mock.calls.length;
  join.mockRestore();
  expect(new Set(texts)).toEqual(new Set(['0-2,8']));
  expect(calls).toBe(1);
});

test('CpuSet computes unions, intersections and differences like sets of numbers', () => {
  fc.assert(
    fc.property(cpuLists, cpuLists, (left, right) => {
      const [a, b] = [CpuSet.of(left), CpuSet.of(right)];
      expect(a.union(b).equals(CpuSet.of([...left, ...right]))).toBe(true);
      expect(a.intersection(b).equals(CpuSet.of(left.filter((cpu) => right.includes(cpu))))).toBe(true);
      expect(a.difference(b).equals(CpuSet.of(left.filter((cpu) => !right.includes(cpu))))).toBe(true);
      expect(a.isSubsetOf(b)).toBe(left.every((cpu) => right.includes(cpu)));
      expect(a.equals(b)).toBe(a.isSubsetOf(b) && b.isSubsetOf(a));
    }),
  );
});
