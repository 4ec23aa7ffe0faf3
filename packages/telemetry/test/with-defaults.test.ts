import { systemClock, systemRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { expect, expectTypeOf, test } from 'vitest';
import { type Logger, noEvents, noMetrics, silentLogger, withDefaults } from '../src/index.ts';

interface Components {
  readonly runtime: string;
  readonly clock?: Pick<FakeClock, 'now'>;
  readonly logger?: Logger;
}

test('omitted components default to the system clock and random numbers, a silent logger and no recorder', () => {
  expect(withDefaults({ runtime: 'r' })).toEqual({
    runtime: 'r',
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    metrics: noMetrics,
    recorder: noEvents,
  });
});

test('given components are kept, and undefined components are replaced by the defaults', () => {
  const clock = new FakeClock();
  const given = { runtime: 'r', clock, logger: undefined } as unknown as Components;
  const whole = withDefaults(given);
  expect(whole.clock).toBe(clock);
  expect(whole.logger).toBe(silentLogger);
  expectTypeOf(whole.clock).toEqualTypeOf<Pick<FakeClock, 'now'>>();
  expectTypeOf(whole.logger).toEqualTypeOf<Logger>();
});
