import { type Clock, checkNumbers } from '@node-agent/async';
import {
  type Container,
  type Pod,
  parseQuantity,
  type ResourceRequirements,
  type RuntimeContainerStatus,
} from '@node-agent/pod-spec';
import { byPrecedence } from '../actions/current-status.ts';
import { BACKOFF_RESET_MS, type BackOffLimits, delayFromRuns, nextDelay, ranLongEnough } from './backoff-delay.ts';

/** A restart that has to wait. */
export interface BackOffVerdict {
  /** Current delay, for the message. */
  readonly delayMs: number;
  /** Rest of the delay. */
  readonly remainingMs: number;
}

interface Entry {
  readonly podUid: string;
  /** Hash and resources of the container's spec. The delay is reset if hash or resources change. */
  readonly spec: string;
  delayMs: number;
  /**
   * Exited attempt that the delay follows: its ID, its number (-1: none yet), and when it was first seen (monotonic
   * clock).
   */
  deathId: string;
  deathAttempt: number;
  deathSeenAtMs: number;
  /** Whether {@link RestartBackOff.started} was called for a start after the exited attempt. */
  restarted: boolean;
  touchedAtMs: number;
}

/**
 * Delays the restarts of crashing containers (C2), per pod UID, container name and spec: 10 s, doubled up to the
 * maximum, reset once the container has run for ten minutes. The delay counts from the container's exit.
 *
 * The back-off is not saved on disk: after a kubelet restart, it is computed from the attempts in the runtime.
 */
export class RestartBackOff {
  readonly #clock: Clock;
  readonly #limits: BackOffLimits;
  readonly #entries = new Map<string, Entry>();
  #sweptAtMs = 0;

  /** @throws RangeError naming a limit that is not a valid duration */
  constructor({ clock }: { readonly clock: Clock }, limits: BackOffLimits) {
    checkNumbers(limits, { initialMs: 'notNegative', maxMs: 'notNegative' });
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Returns how long a container must wait before it restarts; `undefined` if it may start now. Does not change the
   * back-off; {@link started} does, when the container is started.
   * @param statuses container statuses of the whole pod
   */
  check(
    pod: Pod,
    container: Container,
    hash: string,
    statuses: readonly RuntimeContainerStatus[],
  ): BackOffVerdict | undefined {
    const runs = statuses.filter(({ name }) => name === container.name);
    const death = runs.filter(({ state }) => state === 'exited').sort(byPrecedence)[0];
    if (death === undefined) return undefined;
    const entry = this.#entry(pod, container, hash, runs);
    this.#follow(entry, death);
    if (ranLongEnough(death)) return undefined;
    const now = this.#clock.monotonic();
    entry.touchedAtMs = now;
    // If the wall clock was set back, the exit seems to be in the future. The wait is never longer than the delay
    // itself.
    const byWallClock = death.finishedAtMs > 0 ? this.#clock.now() - death.finishedAtMs : 0;
    const sinceDeath = Math.max(byWallClock, now - entry.deathSeenAtMs);
    const remainingMs = entry.delayMs - sinceDeath;
    return remainingMs > 0 ? { delayMs: entry.delayMs, remainingMs } : undefined;
  }

  /** Notes that a container is being restarted, which lengthens the next delay. */
  started(pod: Pod, container: Container, hash: string, statuses: readonly RuntimeContainerStatus[]): void {
    const runs = statuses.filter(({ name }) => name === container.name);
    const death = runs.filter(({ state }) => state === 'exited').sort(byPrecedence)[0];
    if (death === undefined) return;
    const entry = this.#entry(pod, container, hash, runs);
    this.#follow(entry, death);
    entry.delayMs = nextDelay(entry.delayMs, this.#limits);
    entry.restarted = true;
    entry.touchedAtMs = this.#clock.monotonic();
    this.#sweep();
  }

  /**
   * Makes the delay count from this exit, unless it does already. The delay is doubled if {@link started} was not called
   * for the attempt that exited: either the response to the start was lost, or the attempt was started by a kubelet that
   * was killed before the runtime responded.
   */
  #follow(entry: Entry, death: RuntimeContainerStatus): void {
    if (entry.deathId === death.id) return;
    const startedUnobserved = entry.deathAttempt >= 0 && death.restartCount > entry.deathAttempt && !entry.restarted;
    if (startedUnobserved) entry.delayMs = nextDelay(entry.delayMs, this.#limits);
    if (ranLongEnough(death)) entry.delayMs = 0;
    entry.deathId = death.id;
    entry.deathAttempt = death.restartCount;
    entry.deathSeenAtMs = this.#clock.monotonic();
    entry.restarted = false;
  }

  /** Drops the back-off entries of a pod that no longer exists. */
  forget(podUid: string): void {
    for (const [key, entry] of this.#entries) if (entry.podUid === podUid) this.#entries.delete(key);
  }

  #entry(pod: Pod, container: Container, hash: string, runs: readonly RuntimeContainerStatus[]): Entry {
    const key = `${pod.metadata.uid}/${container.name}`;
    const spec = `${hash}/${resourcesText(container.resources)}`;
    const known = this.#entries.get(key);
    if (known?.spec === spec) return known;
    const entry: Entry = {
      podUid: pod.metadata.uid,
      spec,
      // If the spec has changed since this kubelet last saw the container, the delay is reset, whatever the runtime's
      // records show.
      delayMs: known === undefined ? delayFromRuns(runs, hash, this.#limits) : 0,
      deathId: '',
      deathAttempt: -1,
      restarted: false,
      deathSeenAtMs: this.#clock.monotonic(),
      touchedAtMs: this.#clock.monotonic(),
    };
    this.#entries.set(key, entry);
    return entry;
  }

  /**
   * Removes entries that cannot delay a restart any more, because they were not used for longer than the reset time
   * plus the maximum delay.
   */
  #sweep(): void {
    const now = this.#clock.monotonic();
    if (now - this.#sweptAtMs < BACKOFF_RESET_MS) return;
    this.#sweptAtMs = now;
    for (const [key, entry] of this.#entries) {
      if (now - entry.touchedAtMs > 2 * BACKOFF_RESET_MS) this.#entries.delete(key);
    }
  }
}

/**
 * Returns the same text for equal requirements: an API server's defaults write an absent list as `{}`, in any order,
 * and `1000m` as `1`.
 */
function resourcesText({ limits, requests, claims }: ResourceRequirements = {}): string {
  return JSON.stringify([sorted(limits), sorted(requests), claims ?? []]);
}

function sorted(list: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] {
  const amounts = Object.entries(list).map(([name, text]) => [name, `${parseQuantity(text).nanos}`] as const);
  return amounts.sort(([a], [b]) => (a < b ? -1 : 1));
}
