import type { Clock, LendingGate } from '@node-agent/async';

/** A start that takes at most this many times the shortest duration is not slowed down by the starts beside it. */
const UNDISTURBED_RATIO = 1.25;
/** A start that takes at least this many times the shortest duration is slowed down by the starts beside it. */
const CROWDED_RATIO = 2;
/** Highest limit, as a multiple of the least one. */
const HIGHEST_MULTIPLE = 8;
/** A shortest duration is forgotten after one to two times this time, in ms. */
const PERIOD_MS = 600_000;

/** Start of a sandbox that succeeded. */
export interface FinishedStart {
  readonly durationMs: number;
  /** Shortest duration of a recent start with the same runtime handler, including this start. */
  readonly shortestMs: number;
  /** Whether other starts were waiting when this one finished. */
  readonly othersWait: boolean;
}

/**
 * Returns how many starts may run concurrently after a start has finished. If concurrent starts take no longer than a
 * single one, the runtime does not wait for the CPUs or disks of this machine, so more starts may run.
 * @param limit the limit until now
 * @param least the limit never becomes lower than this
 */
export function nextStartLimit(limit: number, least: number, start: FinishedStart): number {
  if (start.durationMs <= start.shortestMs * UNDISTURBED_RATIO) {
    return start.othersWait ? Math.min(limit + 1, least * HIGHEST_MULTIPLE) : limit;
  }
  return start.durationMs < start.shortestMs * CROWDED_RATIO ? limit : Math.max(limit - 1, least);
}

interface Shortest {
  currentMs: number;
  previousMs: number;
  /** End of the current period on the monotonic clock, in ms. */
  endsAtMs: number;
}

/** Adapts the concurrency of a gate to how long sandboxes take to start. */
export class StartLimit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #gate: LendingGate;
  readonly #least: number;
  /** By runtime handler: a sandbox in a virtual machine takes longer than one in namespaces. */
  readonly #shortest = new Map<string, Shortest>();

  /** @param components the gate's concurrency at this time is the least one */
  constructor(components: { readonly clock: Pick<Clock, 'monotonic'>; readonly gate: LendingGate }) {
    this.#clock = components.clock;
    this.#gate = components.gate;
    this.#least = components.gate.concurrency;
  }

  /** Takes the duration of a start that succeeded, in ms, into account. */
  observe(runtimeHandler: string, durationMs: number): void {
    const shortestMs = this.#remember(runtimeHandler, durationMs);
    const start = { durationMs, shortestMs, othersWait: this.#gate.waiting > 0 };
    this.#gate.concurrency = nextStartLimit(this.#gate.concurrency, this.#least, start);
  }

  /** Returns the shortest duration of this period and of the one before. */
  #remember(runtimeHandler: string, durationMs: number): number {
    const nowMs = this.#clock.monotonic();
    const known = this.#shortest.get(runtimeHandler);
    if (known === undefined || nowMs >= known.endsAtMs) {
      const isRecent = known !== undefined && nowMs < known.endsAtMs + PERIOD_MS;
      const previousMs = isRecent ? known.currentMs : durationMs;
      this.#shortest.set(runtimeHandler, { currentMs: durationMs, previousMs, endsAtMs: nowMs + PERIOD_MS });
      return Math.min(durationMs, previousMs);
    }
    known.currentMs = Math.min(known.currentMs, durationMs);
    return Math.min(known.currentMs, known.previousMs);
  }
}
