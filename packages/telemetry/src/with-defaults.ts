import { type Clock, type Random, systemClock, systemRandom } from '@node-agent/async';
import { type EventRecorder, noEvents } from './events.ts';
import { type Logger, silentLogger } from './logger.ts';
import { type Metrics, noMetrics } from './metrics.ts';

/** What almost every component works with, and may be left out when one is made. */
export interface CommonPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Told of the events that users see. */
  readonly recorder: EventRecorder;
}

/** Components of which none is left out. */
export type WithDefaults<C> = C & { readonly [K in keyof C & keyof CommonPorts]-?: Exclude<C[K], undefined> };

const defaults: CommonPorts = {
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  metrics: noMetrics,
  recorder: noEvents,
};

/**
 * The components that a constructor was given, and for those that it was not: the machine's clock and randomness, a logger that
 * is silent, metrics that are counted nowhere, a recorder that tells nobody.
 */
export function withDefaults<C extends object>(components: C): WithDefaults<C> {
  const given = Object.fromEntries(Object.entries(components).filter(([, value]) => value !== undefined)) as C;
  // A component may ask for a part of the port of that name: the default has all of it.
  return { ...defaults, ...given } as WithDefaults<C>;
}
