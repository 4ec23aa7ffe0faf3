import { type Clock, checkNumbers } from '@node-agent/async';
import type { Container, Pod, ResourceRequirements, RuntimeContainerStatus } from '@node-agent/pod-spec';
import { byPrecedence } from '../actions/current-status.ts';
import { BACKOFF_RESET_MS, type BackOffLimits, delayFromRuns, nextDelay, ranLong } from './backoff-delay.ts';

/** A restart that has to wait. */
export interface BackOffVerdict {
  /** The delay that is in force, for the message. */
  readonly delayMs: number;
  /** How much of it is left. */
  readonly remainingMs: number;
}

interface Entry {
  readonly podUid: string;
  /** What of the spec the delay belongs to: another spec starts afresh. */
  readonly spec: string;
  delayMs: number;
  /** The death that the delay follows, its attempt (-1: none yet), and when it was first seen, by the monotonic clock. */
  deathId: string;
  deathAttempt: number;
  deathSeenAtMs: number;
  /** Whether {@link RestartBackOff.started} was told of a start after it. */
  restarted: boolean;
  touchedAtMs: number;
}

/**
 * Holds back the restarts of containers that crash (C2), per pod UID, container name and spec: 10 s, doubled up to
 * the maximum, forgotten once the container has run for ten minutes. It is counted from the container's death.
 *
 * Nothing is kept over a restart of the kubelet: an entry that is missing is made from the attempts in the runtime.
 */
export class RestartBackOff {
  readonly #clock: Clock;
  readonly #limits: BackOffLimits;
  readonly #entries = new Map<string, Entry>();
  #sweptAtMs = 0;

  /** @throws RangeError naming the limit that is no duration */
  constructor({ clock }: { readonly clock: Clock }, limits: BackOffLimits) {
    checkNumbers(limits, { initialMs: 'notNegative', maxMs: 'notNegative' });
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Whether a container must wait before it starts again; `undefined` where it may start now. Asking changes nothing:
   * {@link started} does, once it is on its way.
   * @param statuses of the whole pod
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
    if (ranLong(death)) return undefined;
    const now = this.#clock.monotonic();
    entry.touchedAtMs = now;
    // A wall clock that was set back would make the death lie in the future: never wait longer than the delay itself.
    const byWallClock = death.finishedAtMs > 0 ? this.#clock.now() - death.finishedAtMs : 0;
    const sinceDeath = Math.max(byWallClock, now - entry.deathSeenAtMs);
    const remainingMs = entry.delayMs - sinceDeath;
    return remainingMs > 0 ? { delayMs: entry.delayMs, remainingMs } : undefined;
  }

  /** Notes that a container is being started again, which makes the next delay longer. */
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
   * Has the delay follow this death. A later attempt than that of the last death was started without our being told where
   * {@link started} was not called: by a kubelet that was killed before it had the runtime's answer, or by a call whose
   * answer was lost. It counts as any other.
   */
  #follow(entry: Entry, death: RuntimeContainerStatus): void {
    if (entry.deathId === death.id) return;
    const untold = entry.deathAttempt >= 0 && death.restartCount > entry.deathAttempt && !entry.restarted;
    if (untold) entry.delayMs = nextDelay(entry.delayMs, this.#limits);
    if (ranLong(death)) entry.delayMs = 0;
    entry.deathId = death.id;
    entry.deathAttempt = death.restartCount;
    entry.deathSeenAtMs = this.#clock.monotonic();
    entry.restarted = false;
  }

  /** Forgets a pod that is gone. */
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
      // A spec that changed under our eyes starts afresh, whatever the records say.
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

  /** Drops what can hold nothing back any more: it was not looked at for longer than a run and a delay can last. */
  #sweep(): void {
    const now = this.#clock.monotonic();
    if (now - this.#sweptAtMs < BACKOFF_RESET_MS) return;
    this.#sweptAtMs = now;
    for (const [key, entry] of this.#entries) {
      if (now - entry.touchedAtMs > 2 * BACKOFF_RESET_MS) this.#entries.delete(key);
    }
  }
}

/** Equal for requirements that ask for the same: an API server's defaults write nothing as `{}`, in any order. */
function resourcesText({ limits, requests, claims }: ResourceRequirements = {}): string {
  return JSON.stringify([sorted(limits), sorted(requests), claims ?? []]);
}

function sorted(list: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] {
  return Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1));
}
