import { type Clock, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { type Observations, observe } from './observations.ts';
import { withPlausibleMemory } from './plausible-memory.ts';
import { type StatsOf, statsByUid } from './pod-usage.ts';
import type { EvictionStats } from './ports.ts';
import type { EvictionSummary } from './summary.ts';

/** Accepted values of one stats response. */
export interface StatsSnapshot {
  readonly observations: Observations;
  readonly statsOf: StatsOf;
  /** Whether the response includes pod stats. */
  readonly hasPods: boolean;
  /** Wall-clock time at which the stats were requested. */
  readonly requestedAtMs: number;
}

/** Requests stats. Rejects a response that times out or is older than the last one, and removes implausible values. */
export class StatsReader {
  readonly #stats: EvictionStats;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  #newestMs: number | undefined;
  #problem: string | undefined;

  constructor(
    components: { readonly stats: EvictionStats; readonly clock: Clock; readonly logger: Logger },
    { timeoutMs }: { readonly timeoutMs: number },
  ) {
    this.#stats = components.stats;
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#timeoutMs = timeoutMs;
  }

  /** Problem with the last response; `undefined` if there is none. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Whether stats of the node without its pods are available. */
  get hasNodeStats(): boolean {
    return this.#stats.nodeSummary !== undefined;
  }

  /**
   * Requests stats from the port. @param of `node` requests stats without pods, if the port supports that
   * @returns `undefined` if there are no usable stats; {@link problem} then has the reason. @throws the signal's reason
   */
  async read(signal: AbortSignal, of: 'node' | 'pods' = 'pods'): Promise<StatsSnapshot | undefined> {
    const requestedAtMs = this.#clock.now();
    try {
      const { nodeSummary } = this.#stats;
      const hasPods = of === 'pods' || nodeSummary === undefined;
      const request = (limit: AbortSignal): Promise<EvictionSummary> => {
        const options = { fresh: true } as const;
        return hasPods ? this.#stats.summary(options, limit) : nodeSummary.call(this.#stats, options, limit);
      };
      const response = await withTimeout(this.#clock, this.#timeoutMs, request, signal);
      const { summary, faults: ofMemory } = withPlausibleMemory(response, this.#stats.machineMemoryBytes?.());
      const { observations, faults: ofSignals } = observe(summary);
      const faults = [...ofMemory, ...ofSignals];
      const times = [...observations.values()].flatMap(({ atMs }) => atMs ?? []);
      const newestMs = times.length === 0 ? undefined : Math.max(...times);
      // The clock was set back, so the time of the newest stats lies in the future and is dropped.
      if (this.#newestMs !== undefined && this.#newestMs > requestedAtMs) this.#newestMs = undefined;
      if (newestMs !== undefined && this.#newestMs !== undefined && newestMs < this.#newestMs) {
        this.#setProblem('the stats are older than the previous ones');
        return undefined;
      }
      this.#newestMs = newestMs ?? this.#newestMs;
      this.#setProblem(faults.length > 0 ? `implausible values: ${faults.join('; ')}` : undefined);
      return { observations, statsOf: statsByUid(summary), hasPods, requestedAtMs };
    } catch (err) {
      signal.throwIfAborted();
      this.#setProblem(`no stats: ${err instanceof Error ? err.message : String(err)}`);
      return undefined;
    }
  }

  /** Records the problem. A continuing problem is logged once. */
  #setProblem(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#problem) {
      this.#logger.error({ problem }, 'Eviction manager: failed to get summary stats, ignoring them for eviction');
    }
    this.#problem = problem;
  }
}
