import type { Observation } from '../observation.ts';

/** What is true of the API server. */
export class ApiFacts {
  /** Since when it refuses connections; infinite where it does not. */
  awaySinceMs: number = Number.POSITIVE_INFINITY;
  /** When it was last away, or failed requests. */
  troubleAtMs = 0;
  #faults = 0;
  #aways = 0;
  #lags = 0;
  /** When reads that are old were last over; -1 where there were none. */
  staleUntilMs = -1;
  readonly #ended = new Set<string>();

  /** Whether it refuses connections. */
  get away(): boolean {
    return this.#aways > 0;
  }

  /** Whether it is away, or fails requests by chance. */
  get inTrouble(): boolean {
    return this.away || this.stale || this.#faults > 0;
  }

  /** Whether reads may be old. */
  get stale(): boolean {
    return this.#lags > 0;
  }

  /** Whether its cache has been behind at any time since. */
  wasStaleSince(sinceMs: number): boolean {
    return this.stale || this.staleUntilMs >= sinceMs;
  }

  /** Whether it has shown the pod as ended: a kubelet that starts then has nothing to run of it. */
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
