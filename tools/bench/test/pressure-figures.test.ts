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

describe('figures of pressure', () => {
  test('are set against those of Go, where both gave an answer', () => {
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
    expect(table).toMatch(/^a: to the first signal \[ms\] +1000 +100 +0\.10$/m);
    expect(table).toMatch(/^b: to the first signal \[ms\] +never +100$/m);
    expect(table).toMatch(/^ {2}who else suffered +burstable +nobody$/m);
  });

  test('stand alone where Go was not measured', () => {
    expect(pressureTable(pressureFigures([new Map([['a', outcome({})]])], []))).toMatch(/signal \[ms\] +100$/m);
  });
});

describe('figures of pressure, of several turns,', () => {
  const turns = (...outcomes: Partial<PressureOutcome>[]) => outcomes.map((each) => new Map([['a', outcome(each)]]));

  test('are the medians of the times, and the worst of all else', () => {
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
    expect(pressureTable(figures)).toMatch(/^ {2}who was told to end +hog or guaranteed, hog +hog$/m);
  });

  test.each([
    ['half of them', [{ answerMs: undefined }, { answerMs: 100 }], undefined],
    ['all of them', [{ answerMs: undefined }, { answerMs: undefined }], undefined],
    ['fewer', [{ answerMs: undefined }, { answerMs: 100 }, { answerMs: 300 }], 300],
  ])('have no time where %s had no answer', (_name, outcomes, expected) => {
    expect(pressureFigures(turns(...outcomes), [])[0]?.ours.answerMs).toBe(expected);
  });
});

test('of pressure there is one turn of each kubelet unless more are asked for', () => {
  expect(parsePressureOptions([])).toMatchObject({ rounds: 1, kinds: PRESSURE_KINDS, alone: false });
  expect(parsePressureOptions(['--rounds', '3', '--only', 'log']).kinds.map(({ name }) => name)).toEqual([
    'a log that grows',
  ]);
  expect(parsePressureOptions(['--rounds=3']).rounds).toBe(3);
  expect(() => parsePressureOptions(['--rounds=0'])).toThrow('--rounds: "0" is not a number from 1 to 20');
  expect(() => parsePressureOptions(['--only=nothing'])).toThrow('--only: no kind has such a name');
});

test('a pod that means ill waits until it is told to begin; the others write to their disk all the while', () => {
  const command = (harm?: string): string =>
    pressureSpec('p', '/notes', 'i', 'burstable', harm).containers[0]?.command?.at(-1) ?? '';
  expect(command('fill')).toContain('until [ -e /n/go-p ]');
  expect(command('fill')).toContain('fill; i=');
  expect(command()).not.toContain('go-p');
  expect(command()).toContain('failed-p');
  expect(new Set(PRESSURE_KINDS.map(({ name }) => name)).size).toBe(PRESSURE_KINDS.length);
});

test('notes are told in the order in which pods left them', async () => {
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
