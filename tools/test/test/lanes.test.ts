import { expect, test } from 'vitest';
import { runLanes, selectSteps } from '../lanes.mjs';

interface Step {
  readonly name: string;
  readonly after?: readonly string[];
  readonly needs?: readonly string[];
  readonly tests?: boolean;
}

/** Starts lanes. A step ends when the test calls `end` with the name of the step. */
function start(...lanes: readonly (readonly Step[])[]) {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const done = runLanes(
    lanes.map((steps) => ({ steps })),
    ({ name }: Step) => {
      log.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    },
  ).then(() => log.push('done'));
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { log, end, done };
}

test('the steps of a lane run one after another, and lanes run at the same time', async () => {
  const { log, end, done } = start([{ name: 'a1' }, { name: 'a2' }], [{ name: 'b1' }]);
  await end('');
  expect(log).toEqual(['a1', 'b1']);
  await end('a1');
  expect(log).toEqual(['a1', 'b1', 'a2']);
  await end('a2');
  expect(log).not.toContain('done');
  await end('b1');
  await done;
  expect(log.at(-1)).toBe('done');
});

test('a step waits for the steps of other lanes that it names, and not for steps that are not run', async () => {
  const { log, end, done } = start([{ name: 'a1' }], [{ name: 'b1', after: ['a1', 'not run'] }]);
  await end('');
  expect(log).toEqual(['a1']);
  await end('a1');
  expect(log).toEqual(['a1', 'b1']);
  await end('b1');
  await done;
});

test('a selected step selects the steps that it needs and waits for them, but not the steps that it runs after', async () => {
  const generate = { name: 'generate' };
  const types = { name: 'types', needs: ['generate'], after: ['lint'] };
  const lanes = [{ steps: [generate] }, { steps: [{ name: 'lint' }, types] }];
  expect(selectSteps(lanes, ['types']).chosen).toEqual([{ steps: [generate] }, { steps: [types] }]);
  const { log, end } = start([generate], [types]);
  await end('');
  expect(log).toEqual(['generate']);
});

test('an error of the runner is reported', async () => {
  const run = () => Promise.reject(new Error('no'));
  await expect(runLanes([{ steps: [{ name: 'a' }] }, { steps: [{ name: 'b', after: ['a'] }] }], run)).rejects.toThrow(
    'no',
  );
});

test('the argument `tests` selects all steps with tests, and an unknown argument is named', () => {
  const lanes = [
    { nice: 1, steps: [{ name: 'types' }, { name: 'tests of a', tests: true }] },
    { steps: [{ name: 'tests of b', tests: true }] },
  ];
  expect(selectSteps(lanes, ['tests', 'none'])).toEqual({
    known: ['types', 'tests'],
    unknown: ['none'],
    chosen: [
      { nice: 1, steps: [{ name: 'tests of a', tests: true }] },
      { steps: [{ name: 'tests of b', tests: true }] },
    ],
  });
  expect(selectSteps(lanes, []).chosen).toEqual(lanes);
});
