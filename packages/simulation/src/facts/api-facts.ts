import type { Observation } from '../observation.ts';

/** Ground truth about the API server. */
export class ApiFacts {
  /** Time since which the server refuses connections; `Infinity` if the server accepts connections. */
  awaySinceMs: number = Number.POSITIVE_INFINITY;
  /** Time at which the server was last unreachable or failed requests. */
  troubleAtMs = 0;
  #faults = 0;
  #aways = 0;
  #lags = 0;
  /** Time at which stale reads last ended; -1 if there were none. */
  staleUntilMs = -1;
  readonly #ended = new Set<string>();

  /** Whether the server refuses connections. */
  get away(): boolean {
    return this.#aways > 0;
  }

  /** Whether the server is unreachable, returns stale reads or fails requests randomly. */
  get inTrouble(): boolean {
    return this.away || this.stale || this.#faults > 0;
  }

  /** Whether reads may be stale. */
  get stale(): boolean {
    return this.#lags > 0;
  }

  /** Reports whether reads have been stale at any time since `sinceMs`. */
  wasStaleSince(sinceMs: number): boolean {
    return this.stale || this.staleUntilMs >= sinceMs;
  }

  /**
   * Reports whether the server has stored a terminal phase of the pod. A kubelet that starts after the phase was stored
   * must not run the pod.
   */
  hasEnded(uid: string): boolean {
    return this.#ended.has(uid);
  }

  observe(observation: Observation): void {
    switch (observation.kind) {
      case 'action':
        this.#onAction(observation.action.do, observation.atMs);
        return;
      case 'apiRequest':
        if (observation.shown?.phase === 'Succeeded' || observation.shown?.phase === 'Failed') {
          this.#ended.add(observation.shown.uid);
        }
        return;
      case 'apiCured':
        this.troubleAtMs = observation.atMs;
        if (observation.what === 'away') this.#aways--;
        else if (observation.what === 'stale') {
          this.#lags--;
          this.staleUntilMs = observation.atMs;
        } else this.#faults--;
        if (!this.away) this.awaySinceMs = Number.POSITIVE_INFINITY;
        return;
      default:
    }
  }

  #onAction(what: string, atMs: number): void {
    if (what === 'apiAway') {
      this.#aways++;
      this.awaySinceMs = Math.min(this.awaySinceMs, atMs);
    } else if (what === 'apiFaults') {
      this.#faults++;
    } else if (what === 'apiStale') {
      this.#lags++;
    } else if (what !== 'apiCompact' && what !== 'apiWipe') {
      return;
    }
    this.troubleAtMs = atMs;
  }
}
