import { FakeClock } from '@node-agent/async/testing';
import { expect, test } from 'vitest';
import { Ending } from '../src/process/ending.ts';
import { Parts } from '../src/process/parts.ts';

function ending() {
  const clock = new FakeClock();
  const parts = new Parts();
  const said: string[] = [];
  const exits: number[] = [];
  const controller = new AbortController();
  const say = (fields: object, message: string): void => void said.push(`${message} ${JSON.stringify(fields)}`);
  const components = {
    ...{ parts, logger: { info: say, error: say }, active: () => ['Timeout'] },
    exit: (code: number) => void exits.push(code),
    later: (delayMs: number, callback: () => void) => void clock.setTimer(delayMs, callback),
  };
  return { clock, parts, said, exits, controller, it: new Ending(components, controller) };
}

test('the first signal starts a graceful shutdown, and the second exits immediately', () => {
  const { it, exits, controller } = ending();
  it.onSignal('SIGTERM');
  expect(controller.signal.reason).toEqual(new Error('ended by SIGTERM'));
  expect(exits).toEqual([]);
  it.onSignal('SIGINT');
  expect(exits).toEqual([1]);
});

test('W2: logs the parts that do not stop in time and exits', async () => {
  const { it, parts, clock, said, exits, controller } = ending();
  const never = Promise.withResolvers<void>();
  const ended = parts.task('short', async () => {})(controller.signal);
  void parts.task('endless', () => never.promise)(controller.signal);
  const client = parts.begin('client');
  await ended;
  it.onSignal('SIGTERM');
  client[Symbol.dispose]();
  await clock.advance(14_999);
  expect(exits).toEqual([]);
  await clock.advance(1);
  expect(exits).toEqual([1]);
  expect(said.at(-1)).toBe('Shutdown timed out, exiting {"parts":"endless","active":"Timeout"}');
});

test('W2: stops all parts if one fails, exits if they do not stop in time, and logs only the first failure', async () => {
  const { it, parts, clock, said, exits } = ending();
  parts.begin('endless');
  it.onFailure(new Error('the port is in use'));
  it.onFailure(new Error('and then'));
  expect(said).toEqual(['The kubelet failed {"err":{}}']);
  await clock.advance(14_999);
  expect(exits).toEqual([]);
  await clock.advance(1);
  expect([exits, said.length]).toEqual([[1], 2]);
});

test('does not log failures that result from the shutdown', async () => {
  const { it, said } = ending();
  it.onSignal('SIGTERM');
  it.onFailure(new Error('aborted'));
  expect(said).toHaveLength(1);
});
