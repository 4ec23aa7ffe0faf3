import type { Clock, Random } from '@node-agent/async';
import type { Logger, Metrics } from '@node-agent/telemetry';
import type { PodCache } from './pod-cache.ts';
import type { PlegRuntime, PodLifecycleEvent } from './types.ts';

/** What {@link Pleg} works with. */
export interface PlegComponents {
  readonly runtime: PlegRuntime;
  readonly cache: PodCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Settings of {@link Pleg}. */
export interface PlegOptions {
  /** From the end of one list of all pods to the next where the runtime gives no events. Default: 1,000. */
  readonly relistPeriodMs?: number;
  /** The same where it gives events, and lists only repair. Default: 300,000. */
  readonly repairPeriodMs?: number;
  /** How long the runtime may not be listed before `healthy()` complains. Default: 180,000. */
  readonly relistThresholdMs?: number;
  /** How many pods are read at once. Default: 10. */
  readonly maxConcurrentReads?: number;
}

/** The Pod Lifecycle Event Generator (`pkg/kubelet/pleg`). */
export class Pleg {
  readonly #components: PlegComponents;

  constructor(components: PlegComponents, _options: PlegOptions = {}) {
    this.#components = components;
  }

  /** What happened, coalesced per pod; for one reader. Ends when the generator does. */
  get events(): AsyncIterable<PodLifecycleEvent> {
    throw this.#unbuilt();
  }

  /** Asks for a look at this pod now. */
  hint(_uid: string): void {
    throw this.#unbuilt();
  }

  /** `undefined` where all is well, else what is wrong. */
  healthy(): string | undefined {
    return 'pleg has yet to be successful';
  }

  start(_signal: AbortSignal): Promise<void> {
    return Promise.reject(this.#unbuilt());
  }

  #unbuilt(): Error {
    this.#components.logger.error({}, 'The generator is being built');
    return new Error('the generator is being built');
  }
}
