import type { Clock } from '@node-agent/async';
import type { RuntimePod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import type { Dependencies } from '../dependencies.ts';
import type { PodGroups } from './pod-groups.ts';
import type { SyncHandler } from './sync-handler.ts';

/** What one pass works with. */
interface Pass {
  readonly pods: readonly RuntimePod[];
  /** Not all sources have spoken: nothing but namesakes of wanted static pods may be ended (F1, F4). */
  readonly early: boolean;
}

/** At the latest after this long housekeeping looks at everything again, whether or not anything seemed to happen. */
const REPAIR_MS = 60_000;
/** A pass that takes longer than this is worth a line in the log. */
const WARNING_MS = 15_000;

interface Components extends Pick<Dependencies, 'podConfig'> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly runtime: Pick<Dependencies['runtime'], 'getPods'>;
  readonly handler: Pick<SyncHandler, 'beginReused' | 'handlePodCleanups' | 'early'>;
  readonly groups: Pick<PodGroups, 'look'>;
}

/** When housekeeping is due, and its two halves: what asks the runtime, and what needs the sync loop to itself. */
export class Housekeeper {
  readonly #components: Components;
  /** Whether anything happened since the last pass that it may have to act on. */
  #due = true;
  /** When the pass that is under way began. */
  #beganMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(components: Components) {
    this.#components = components;
  }

  /** Something happened that housekeeping may have to act on. */
  due(): void {
    this.#due = true;
  }

  /** The runtime's pods, where there is anything to do; `undefined` where not. A runtime may take its time to answer. */
  async prepare(signal: AbortSignal): Promise<Pass | undefined> {
    const { clock, podConfig, runtime, handler, groups } = this.#components;
    if (!podConfig.seenAllSources()) {
      return { pods: handler.early.mayHaveNamesakes() ? await runtime.getPods(signal) : [], early: true };
    }
    const nowMs = clock.monotonic();
    const repair = nowMs - this.#lastMs >= REPAIR_MS;
    if (!this.#due && !repair) return undefined;
    // What happens from now on is for the next pass.
    this.#due = false;
    this.#beganMs = nowMs;
    const pods = await this.#untilDone(async () => {
      await groups.look(signal);
      return await runtime.getPods(signal);
    });
    return { pods, early: false };
  }

  /** Does what is to be done, in the sync loop. */
  async handle({ pods, early }: Pass, signal: AbortSignal): Promise<void> {
    const { clock, logger, handler } = this.#components;
    if (early) {
      handler.beginReused(signal);
      return handler.early.endNamesakes(pods);
    }
    await this.#untilDone(() => handler.handlePodCleanups(pods, signal));
    this.#lastMs = this.#beganMs;
    const durationMs = clock.monotonic() - this.#beganMs;
    if (durationMs > WARNING_MS) logger.warn({ durationMs }, 'Housekeeping took longer than expected');
  }

  /** What fails is due again. */
  async #untilDone<T>(half: () => Promise<T>): Promise<T> {
    try {
      return await half();
    } catch (err) {
      this.#due = true;
      throw err;
    }
  }
}
