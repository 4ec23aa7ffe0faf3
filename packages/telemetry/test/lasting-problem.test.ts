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

test('a reason that several subjects share is logged once, and its end when no subject fails for that reason any more', () => {
  const { logger, lines } = captureLogger();
  const problem = new LastingProblem(logger, { failed: 'Unable', over: 'Able again' });
  for (let n = 0; n < 2; n++) for (const disk of ['a', 'b']) problem.failed(new Error('driver is down'), { disk });
  problem.failed(new Error('late'), { disk: 'c' });
  for (const disk of ['a', 'a', 'b', 'c']) problem.over({ disk });
  const said = lines.filter(({ level }) => level !== 'debug');
  expect(said.map(({ message, fields: { disk, failures } }) => [message, disk, failures])).toEqual([
    ['Unable', 'a', undefined],
    ['Unable', 'c', undefined],
    ['Able again', 'b', 4],
    ['Able again', 'c', 1],
  ]);
});

test('a reason that the last subject leaves for another reason is logged when it comes again', () => {
  const { problem, said } = setUp();
  problem.failed(new Error('driver is down'), { disk: 'a' });
  problem.failed(new Error('late'), { disk: 'a' });
  problem.failed(new Error('driver is down'), { disk: 'b' });
  problem.over({ disk: 'a' });
  expect(said()).toEqual([
    ['warn', 'Unable', undefined],
    ['warn', 'Unable', undefined],
    ['warn', 'Unable', undefined],
    ['info', 'Able again', 2],
  ]);
});

test('a subject that is forgotten keeps no reason known, and its end is not logged', () => {
  const { problem, said } = setUp();
  for (const disk of ['a', 'b']) problem.failed(new Error('driver is down'), { pod: 'p', disk });
  problem.failed(new Error('late'), { pod: 'q', disk: 'a' });
  said();
  problem.forget({ pod: 'p' });
  problem.over({ pod: 'p', disk: 'a' });
  problem.failed(new Error('driver is down'), { pod: 'q', disk: 'b' });
  problem.over({ pod: 'q', disk: 'a' });
  expect(said()).toEqual([
    ['warn', 'Unable', undefined],
    ['info', 'Able again', 1],
  ]);
});
