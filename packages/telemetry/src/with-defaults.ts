import { type Clock, type Random, systemClock, systemRandom } from '@node-agent/async';
import { type EventRecorder, noEvents } from './events.ts';
import { type Logger, silentLogger } from './logger.ts';
import { type Metrics, noMetrics } from './metrics.ts';

/** Components that almost every class takes and that may be omitted. */
export interface CommonPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Receives the events that users see. */
  readonly recorder: EventRecorder;
}

/** Components with the defaults of {@link CommonPorts} filled in. */
export type WithDefaults<C> = C & { readonly [K in keyof C & keyof CommonPorts]-?: Exclude<C[K], undefined> };

const defaults: CommonPorts = {
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  metrics: noMetrics,
  recorder: noEvents,
};

/**
 * Fills in defaults for the components that the caller omitted: the system's clock and random numbers, a silent logger,
 * no metrics, and a recorder that drops events.
 */
export function withDefaults<C extends object>(components: C): WithDefaults<C> {
  const given = Object.fromEntries(Object.entries(components).filter(([, value]) => value !== undefined)) as C;
  // A class may declare only a part of a port as its component type. The default implements the whole port.
  return { ...defaults, ...given } as WithDefaults<C>;
}
