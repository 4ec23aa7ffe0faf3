import { type Clock, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { type Observations, observe } from './observations.ts';
import { withPlausibleMemory } from './plausible-memory.ts';
import { type StatsOf, statsByUid } from './pod-usage.ts';
import type { EvictionStats } from './ports.ts';
import type { EvictionSummary } from './summary.ts';

/** What is believed of one answer of the statistics. */
export interface Figures {
  readonly observations: Observations;
  readonly statsOf: StatsOf;
  /** Whether pods were measured, too. */
  readonly ofPods: boolean;
  /** The wall clock, before they were asked for. */
  readonly askedAtMs: number;
}

/** Asks for statistics, and believes no answer that comes too late, is older than the last, or says what cannot be. */
export class Statistics {
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

  /** What is wrong with the last answer; `undefined` where nothing is. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Whether the node can be asked about without its pods. */
  get hasNodeAlone(): boolean {
    return this.#stats.nodeSummary !== undefined;
  }

  /**
   * @param of without the pods where `node` and that is known
   * @returns `undefined` where there is nothing to go by; {@link problem} says why then. @throws the signal's reason
   */
  async take(signal: AbortSignal, of: 'node' | 'pods' = 'pods'): Promise<Figures | undefined> {
    const askedAtMs = this.#clock.now();
    try {
      const { nodeSummary } = this.#stats;
      const ofPods = of === 'pods' || nodeSummary === undefined;
      const ask = (limit: AbortSignal): Promise<EvictionSummary> => {
        const wanted = { fresh: true } as const;
        return ofPods ? this.#stats.summary(wanted, limit) : nodeSummary.call(this.#stats, wanted, limit);
      };
      const given = await withTimeout(this.#clock, this.#timeoutMs, ask, signal);
      const { summary, faults: ofMemory } = withPlausibleMemory(given, this.#stats.machineMemoryBytes?.());
      const { observations, faults: ofSignals } = observe(summary);
      const faults = [...ofMemory, ...ofSignals];
      const times = [...observations.values()].flatMap(({ atMs }) => atMs ?? []);
      const newestMs = times.length === 0 ? undefined : Math.max(...times);
      // The clock was set back: what was newest tells nothing any more.
      if (this.#newestMs !== undefined && this.#newestMs > askedAtMs) this.#newestMs = undefined;
      if (newestMs !== undefined && this.#newestMs !== undefined && newestMs < this.#newestMs) {
        this.#tell('the statistics are older than the last ones');
        return undefined;
      }
      this.#newestMs = newestMs ?? this.#newestMs;
      this.#tell(faults.length > 0 ? `figures that cannot be: ${faults.join('; ')}` : undefined);
      return { observations, statsOf: statsByUid(summary), ofPods, askedAtMs };
    } catch (err) {
      signal.throwIfAborted();
      this.#tell(`no statistics: ${err instanceof Error ? err.message : String(err)}`);
      return undefined;
    }
  }

  /** Each problem once, for as long as it lasts. */
  #tell(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#problem) {
      this.#logger.error({ problem }, 'Eviction manager: failed to get summary stats, nothing is evicted for them');
    }
    this.#problem = problem;
  }
}
