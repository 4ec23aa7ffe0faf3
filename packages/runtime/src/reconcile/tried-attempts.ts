import type { Clock } from '@node-agent/async';
import { CriError } from '@node-agent/cri-client';

/** Longer than a runtime works on a call that nobody waits for any more; a name that is taken still then is leaked. */
const LEAKED_NAME_MS = 300_000;

/** For so long a taken name is what a call that was broken off left, and is about to be given back. */
const SETTLING_MS = 10_000;
const SETTLING_RETRY_MS = 1_000;

/**
 * A runtime that has the name already: containerd and CRI-O say so in words only. Among them may be a pod's own, as of a profile that is
 * not there: they are looked through once, however many names there are in them.
 */
export function isNameTaken(err: unknown): boolean {
  const { code, details } = CriError.from(err);
  if (code === 'ALREADY_EXISTS') return true;
  const nameAt = details.search(/\bname\b/);
  return nameAt >= 0 && /\bis reserved\b/.test(details.slice(nameAt));
}

/**
 * The attempt numbers that come next and that no record tells, by container: those that were tried and did not succeed. A CreateContainer may go through after its
 * answer was lost: its successor takes the same number, so that the runtime refuses it (C1). Only a name that stays
 * taken, or a container that will not be removed, is given up after five minutes (containerd#4604, cri-o#9097).
 */
export class TriedAttempts {
  readonly #clock: Clock;
  readonly #tried = new Map<string, { attempt: number; takenSinceMs?: number }>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** @param container '' for the pod's sandbox */
  get(podUid: string, container: string): number | undefined {
    return this.#tried.get(`${podUid}/${container}`)?.attempt;
  }

  /** A call to make this attempt failed. */
  failed(podUid: string, container: string, attempt: number, err: unknown): void {
    if (isNameTaken(err)) this.inTheWay(podUid, container, attempt);
    else this.#tried.set(`${podUid}/${container}`, { attempt });
  }

  /** The record that tells the number of the next attempt is being removed: it is kept in mind instead. */
  next(podUid: string, container: string, attempt: number): void {
    const known = this.get(podUid, container);
    if (known === undefined || known < attempt) this.#tried.set(`${podUid}/${container}`, { attempt });
  }

  /** Something that has this number is in the way, and will not go. */
  inTheWay(podUid: string, container: string, attempt: number): void {
    const key = `${podUid}/${container}`;
    const known = this.#tried.get(key);
    const now = this.#clock.monotonic();
    const takenSinceMs = known?.attempt === attempt ? (known.takenSinceMs ?? now) : now;
    const leaked = now - takenSinceMs >= LEAKED_NAME_MS;
    this.#tried.set(key, leaked ? { attempt: attempt + 1 } : { attempt, takenSinceMs });
  }

  /** When the next try makes sense, by the monotonic clock, where the name will soon be free. */
  retryAtMs(podUid: string, container: string): number | undefined {
    const sinceMs = this.#tried.get(`${podUid}/${container}`)?.takenSinceMs;
    const now = this.#clock.monotonic();
    return sinceMs !== undefined && now - sinceMs < SETTLING_MS ? now + SETTLING_RETRY_MS : undefined;
  }

  succeeded(podUid: string, container: string): void {
    this.#tried.delete(`${podUid}/${container}`);
  }

  forget(podUid: string): void {
    for (const key of this.#tried.keys()) if (key.startsWith(`${podUid}/`)) this.#tried.delete(key);
  }
}
