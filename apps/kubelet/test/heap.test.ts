import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { silentLogger } from '@node-agent/telemetry';
import { expect, test } from 'vitest';
import { HeapKeeper } from '../src/process/heap-keeper.ts';
import { COLLECTION_FLAG, type HeapSize, heapSizeFor } from '../src/process/heap-size.ts';

const SMALL = ['--optimize-for-size', '--semi-space-growth-factor=1', '--heap-growing-percent=0'];
const ROOMY = ['--no-optimize-for-size', '--semi-space-growth-factor=2', '--heap-growing-percent=20'];
const LARGE = ['--no-optimize-for-size', '--semi-space-growth-factor=1', '--heap-growing-percent=50'];

test.each<[pods: number, present: HeapSize, size: HeapSize]>([
  [0, 'small', 'small'],
  [49, 'small', 'small'],
  [50, 'small', 'roomy'],
  [500, 'small', 'roomy'],
  [500, 'roomy', 'roomy'],
  [30, 'roomy', 'roomy'],
  [29, 'roomy', 'small'],
  [0, 'roomy', 'small'],
  [999, 'roomy', 'roomy'],
  [1000, 'roomy', 'large'],
  [10_000, 'small', 'large'],
  [800, 'large', 'large'],
  [799, 'large', 'roomy'],
  [50, 'large', 'roomy'],
  [49, 'large', 'small'],
])('with %d pods, a young generation that is %s becomes %s', (pods, present, size) => {
  expect(heapSizeFor(pods, present)).toBe(size);
});

/** Returns a keeper that starts with the large heap, and a function that returns the V8 flags set by some calls. */
function keeper(): {
  readonly heap: HeapKeeper;
  readonly set: (calls: (heap: HeapKeeper) => void) => readonly string[];
} {
  const flags: string[] = [];
  const heap = new HeapKeeper({ setFlags: (flag) => flags.push(flag), logger: silentLogger });
  const set = (calls: (heap: HeapKeeper) => void): readonly string[] => {
    calls(heap);
    return flags.splice(0);
  };
  return { heap, set };
}

test('V8 flags are set once when there are many pods and once when there are few, but not while the number varies in between', () => {
  const { heap, set } = keeper();
  const told = (...counts: number[]): readonly string[] =>
    set(() => {
      for (const pods of counts) heap.podCountChanged(pods);
    });
  expect(set(() => heap.sourcesReady())).toEqual(SMALL);
  expect(told(1, 20, 49, 0)).toEqual([]);
  expect(told(50, 51, 100)).toEqual(ROOMY);
  expect(told(49, 51, 49, 30, 50)).toEqual([]);
  expect(told(29, 30, 0)).toEqual(SMALL);
  expect(told(49, 50)).toEqual(ROOMY);
  expect(told(1000, 10_000, 900)).toEqual(LARGE);
  expect(told(799)).toEqual(ROOMY);
});

test('the heap stays large until all pod sources are ready, however few pods the first source reports', () => {
  const { heap, set } = keeper();
  expect(set(() => heap.podCountChanged(3))).toEqual([]);
  expect(set(() => heap.podCountChanged(60))).toEqual([]);
  expect(set(() => heap.sourcesReady())).toEqual(ROOMY);
});

test("with the flags of the program's first line, V8's young generation is small, grows if allowed, and shrinks again", async () => {
  const main = await readFile(new URL('../src/main.ts', import.meta.url), 'utf8');
  const [, , , ...flags] = main.split('\n', 1).join().split(' ');
  const program = fileURLToPath(new URL('heap-program.ts', import.meta.url));
  const args = [...flags, COLLECTION_FLAG, '--expose-gc', '--disable-warning=ExperimentalWarning', program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  const [first = 0, before = 0, many = 0, after = 0] = JSON.parse(stdout);
  // The sizes include both semi-spaces, one of which may not be allocated. V8 prints unknown flags to standard error.
  expect([first <= 2, before <= 2, many > 4, after <= 2, stderr]).toEqual([true, true, true, true, '']);
});
