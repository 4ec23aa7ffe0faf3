import type { Clock } from '@node-agent/async';
import type { RuntimePod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import type { Dependencies } from '../dependencies.ts';
import type { EarlyTerminations } from './early-terminations.ts';
import type { PodCgroups } from './pod-cgroups.ts';
import type { PodCleanups } from './pod-cleanups.ts';

/** Input of one housekeeping pass. */
interface Pass {
  readonly pods: readonly RuntimePod[];
  /**
   * Whether some sources have not reported. In this case, only running pods that a static pod of the same name replaces
   * may be terminated (F1, F4).
   */
  readonly isEarly: boolean;
}

/** Maximum time between two complete passes, whether or not anything happened. */
const REPAIR_MS = 60_000;
/** Duration of a pass above which a warning is logged. */
const WARNING_MS = 15_000;

interface Components extends Pick<Dependencies, 'podConfig'> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly runtime: Pick<Dependencies['runtime'], 'getPods'>;
  readonly cleanups: Pick<PodCleanups, 'restartReused' | 'handlePodCleanups'>;
  readonly early: Pick<EarlyTerminations, 'mayHaveReplacedOrphans' | 'killReplacedOrphans'>;
  readonly podCgroups: Pick<PodCgroups, 'refresh'>;
}

/**
 * Decides when housekeeping is due, and runs its two halves: queries to the runtime outside the sync loop, and the
 * changes inside the sync loop.
 */
export class Housekeeper {
  readonly #components: Components;
  /** Whether something has happened since the last pass that housekeeping may have to react to. */
  #isPassDue = true;
  /** Start of the current pass. */
  #startedMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(components: Components) {
    this.#components = components;
  }

  /** Requests a pass, because something happened that housekeeping may have to react to. */
  requestPass(): void {
    this.#isPassDue = true;
  }

  /**
   * Returns the runtime's pods if a pass is due, otherwise `undefined`. Runs outside the sync loop, because the runtime
   * may be slow.
   */
  async prepare(signal: AbortSignal): Promise<Pass | undefined> {
    const { clock, podConfig, runtime, early, podCgroups } = this.#components;
    if (!podConfig.seenAllSources()) {
      return { pods: early.mayHaveReplacedOrphans() ? await runtime.getPods(signal) : [], isEarly: true };
    }
    const nowMs = clock.monotonic();
    const repair = nowMs - this.#lastMs >= REPAIR_MS;
    if (!this.#isPassDue && !repair) return undefined;
    // Requests that arrive from now on make the next pass due.
    this.#isPassDue = false;
    this.#startedMs = nowMs;
    const pods = await this.#untilDone(async () => {
      await podCgroups.refresh(signal);
      return await runtime.getPods(signal);
    });
    return { pods, isEarly: false };
  }

  /** Performs the pass, in the sync loop. */
  async handle({ pods, isEarly }: Pass, signal: AbortSignal): Promise<void> {
    const { clock, logger, cleanups, early } = this.#components;
    if (isEarly) {
      cleanups.restartReused(signal);
      return early.killReplacedOrphans(pods);
    }
    await this.#untilDone(() => cleanups.handlePodCleanups(pods, signal));
    this.#lastMs = this.#startedMs;
    const durationMs = clock.monotonic() - this.#startedMs;
    if (durationMs > WARNING_MS) logger.warn({ durationMs }, 'Housekeeping took longer than expected');
  }

  /** Runs one half of a pass. If the half fails, the pass becomes due again. */
  async #untilDone<T>(half: () => Promise<T>): Promise<T> {
    try {
      return await half();
    } catch (err) {
      this.#isPassDue = true;
      throw err;
    }
  }
}
