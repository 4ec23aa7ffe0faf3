import { expect, test } from 'vitest';
import { captureLogger } from '../src/capture-logger.ts';
import { LastingProblem } from '../src/lasting-problem.ts';

const setUp = (level?: 'error') => {
  const { logger, lines } = captureLogger();
  const problem = new LastingProblem(logger, { failed: 'Unable', over: 'Able again', ...(level && { level }) });
  return { problem, said: () => lines.splice(0).map((line) => [line.level, line.message, line.fields.failures]) };
};

test('a lasting problem is logged once, and again with a count when it is over', () => {
  const { problem, said } = setUp('error');
  problem.over();
  for (let n = 0; n < 39; n++) problem.failed(new Error('connection refused'));
  problem.over();
  problem.over();
  const lines = said();
  expect(lines.filter(([level]) => level !== 'debug')).toEqual([
    ['error', 'Unable', undefined],
    ['info', 'Able again', 39],
  ]);
  expect(lines.filter(([level]) => level === 'debug')).toHaveLength(38);
});

test('a different problem is logged, and so is the same problem after a success', () => {
  const { problem, said } = setUp();
  problem.failed(new Error('connection refused'));
  problem.failed(new Error('late'));
  problem.over();
  problem.failed(new Error('late'));
  expect(said()).toEqual([
    ['warn', 'Unable', undefined],
    ['warn', 'Unable', undefined],
    ['info', 'Able again', 2],
    ['warn', 'Unable', undefined],
  ]);
});

test('a lasting problem may be logged without an error', () => {
  const { problem, said } = setUp();
  problem.failed();
  problem.failed();
  expect(said()).toEqual([
    ['warn', 'Unable', undefined],
    ['debug', 'Unable', 2],
  ]);
});
