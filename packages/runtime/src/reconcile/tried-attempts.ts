import type { Clock } from '@node-agent/async';
import { CriError } from '@node-agent/cri-client';

/** Time after which a runtime has certainly finished a cancelled call. A name still taken after this time is leaked. */
const LEAKED_NAME_MS = 300_000;

/**
 * Time during which a taken name is expected to become free soon, because a cancelled call is still being cleaned up.
 */
const SETTLING_MS = 10_000;
const SETTLING_RETRY_MS = 1_000;

/**
 * Returns whether an error means that the name is taken; containerd and CRI-O report this only in the message. The
 * message may contain texts of the pod, such as the name of a missing profile, so it is scanned only once, however long
 * it is.
 */
export function isNameTaken(err: unknown): boolean {
  const { code, details } = CriError.from(err);
  if (code === 'ALREADY_EXISTS') return true;
  const nameAt = details.search(/\bname\b/);
  return nameAt >= 0 && /\bis reserved\b/.test(details.slice(nameAt));
}

/**
 * Attempt numbers that were tried without success and that no container record shows, by container. A CreateContainer
 * may complete after its response was lost; the next creation uses the same number, so that the runtime rejects one of
 * the two (C1). A number is skipped only if its name stays taken, or its container cannot be removed, for five minutes
 * (containerd#4604, cri-o#9097).
 */
export class TriedAttempts {
  readonly #clock: Clock;
  readonly #tried = new Map<string, { attempt: number; takenSinceMs?: number }>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /**
   * Returns the attempt number that was last tried without success; `undefined` if there is none.
   * @param container '' for the pod's sandbox
   */
  get(podUid: string, container: string): number | undefined {
    return this.#tried.get(`${podUid}/${container}`)?.attempt;
  }

  /** Records that the creation of an attempt failed. */
  failed(podUid: string, container: string, attempt: number, err: unknown): void {
    if (isNameTaken(err)) this.inTheWay(podUid, container, attempt);
    else this.#tried.set(`${podUid}/${container}`, { attempt });
  }

  /** Saves the number of the next attempt, because the record that shows it is being removed. */
  next(podUid: string, container: string, attempt: number): void {
    const known = this.get(podUid, container);
    if (known === undefined || known < attempt) this.#tried.set(`${podUid}/${container}`, { attempt });
  }

  /** Records that a container or name with this attempt number blocks the creation and cannot be removed. */
  inTheWay(podUid: string, container: string, attempt: number): void {
    const key = `${podUid}/${container}`;
    const known = this.#tried.get(key);
    const now = this.#clock.monotonic();
    const takenSinceMs = known?.attempt === attempt ? (known.takenSinceMs ?? now) : now;
    const leaked = now - takenSinceMs >= LEAKED_NAME_MS;
    this.#tried.set(key, leaked ? { attempt: attempt + 1 } : { attempt, takenSinceMs });
  }

  /** Returns when to retry, by the monotonic clock, if the name will soon be free. */
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
