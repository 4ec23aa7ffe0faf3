import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type PressureOutcome, pressureFigures, pressureTable } from '../src/pressure/figures.ts';
import { PRESSURE_KINDS, pressureSpec } from '../src/pressure/kinds.ts';
import { Notes } from '../src/pressure/notes.ts';
import { parsePressureOptions } from '../src/pressure/options.ts';

const outcome = (more: Partial<PressureOutcome>): PressureOutcome => ({
  answerMs: 100,
  order: ['hog'],
  suffered: [],
  oomKills: 0,
  leastBytes: 2e8,
  ...more,
});

describe('pressureFigures', () => {
  test('pressureFigures computes a ratio to the Go kubelet if both responded', () => {
    const ours = new Map([
      ['a', outcome({})],
      ['b', outcome({})],
      ['c', outcome({ answerMs: undefined })],
    ]);
    const go = new Map([
      ['a', outcome({ answerMs: 1000 })],
      ['b', outcome({ answerMs: undefined, order: [], suffered: ['burstable'], oomKills: 1 })],
      ['c', outcome({})],
    ]);
    const figures = pressureFigures([ours], [go]);
    expect(figures.map(({ ratio }) => ratio)).toEqual([0.1, undefined, undefined]);
    const table = pressureTable(figures);
    expect(table).toMatch(/^a: threshold to first signal \[ms\] +1000 +100 +0\.10$/m);
    expect(table).toMatch(/^b: threshold to first signal \[ms\] +never +100$/m);
    expect(table).toMatch(/^ {2}other affected pods +burstable +none$/m);
  });

  test('pressureTable has no values of the Go kubelet if it was not measured', () => {
    expect(pressureTable(pressureFigures([new Map([['a', outcome({})]])], []))).toMatch(/signal \[ms\] +100$/m);
  });
});

describe('pressureFigures of several turns', () => {
  const turns = (...outcomes: Partial<PressureOutcome>[]) => outcomes.map((each) => new Map([['a', outcome(each)]]));

  test('pressureFigures contains the medians of the times and the worst of the other values', () => {
    const go = turns(
      { answerMs: 9000, suffered: ['burstable'], leastBytes: 0 },
      { answerMs: 1000, oomKills: 2, order: ['guaranteed', 'hog'] },
      { answerMs: 4000, suffered: ['guaranteed', 'burstable'], leastBytes: 5e7 },
    );
    const figures = pressureFigures(turns({ answerMs: 200 }, { answerMs: 500 }, { answerMs: 400 }), go);
    expect(figures).toMatchObject([{ ratio: 0.1, ours: { answerMs: 400, leastBytes: 2e8 } }]);
    expect(figures[0]?.go).toEqual({
      answerMs: 4000,
      orders: [['hog'], ['guaranteed', 'hog']],
      suffered: ['burstable', 'guaranteed'],
      oomKills: 2,
      leastBytes: 0,
    });
    expect(pressureTable(figures)).toMatch(/^ {2}terminated pods, in order +hog or guaranteed, hog +hog$/m);
  });

  test.each([
    ['undefined if half of the turns had no response', [{ answerMs: undefined }, { answerMs: 100 }], undefined],
    ['undefined if no turn had a response', [{ answerMs: undefined }, { answerMs: undefined }], undefined],
    [
      'a number if fewer than half of the turns had no response',
      [{ answerMs: undefined }, { answerMs: 100 }, { answerMs: 300 }],
      300,
    ],
  ])('the median response time of pressureFigures is %s', (_name, outcomes, expected) => {
    expect(pressureFigures(turns(...outcomes), [])[0]?.ours.answerMs).toBe(expected);
  });
});

test('parsePressureOptions applies defaults and rejects invalid values with the name of the option', () => {
  expect(parsePressureOptions([])).toMatchObject({ rounds: 1, kinds: PRESSURE_KINDS, alone: false });
  expect(parsePressureOptions(['--rounds', '3', '--only', 'log']).kinds.map(({ name }) => name)).toEqual([
    'a growing log',
  ]);
  expect(parsePressureOptions(['--rounds=3']).rounds).toBe(3);
  expect(() => parsePressureOptions(['--rounds=0'])).toThrow('--rounds: must be a number from 1 to 20, is "0"');
  expect(() => parsePressureOptions(['--only=nothing'])).toThrow('--only: must match the name of at least one kind');
});

test('pressureSpec: the hostile pod waits for its start file, and the other pods record failed writes to their disk', () => {
  const command = (harm?: string): string =>
    pressureSpec('p', '/notes', 'i', 'burstable', harm).containers[0]?.command?.at(-1) ?? '';
  expect(command('fill')).toContain('until [ -e /n/go-p ]');
  expect(command('fill')).toContain('fill; i=');
  expect(command()).not.toContain('go-p');
  expect(command()).toContain('failed-p');
  expect(new Set(PRESSURE_KINDS.map(({ name }) => name)).size).toBe(PRESSURE_KINDS.length);
});

test("Notes.left returns pods in the order of their files' times", async () => {
  const directory = await mkdtemp(join(tmpdir(), 'na-notes-'));
  try {
    const notes = new Notes(directory);
    await notes.go('b');
    for (const name of ['term-b', 'term-a', 'failed-c']) {
      await writeFile(join(directory, name), '');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect((await notes.left('term')).map(([name]) => name)).toEqual(['b', 'a']);
    expect((await notes.left('failed')).map(([name]) => name)).toEqual(['c']);
    await notes.clear();
    expect(await notes.left('term')).toEqual([]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
