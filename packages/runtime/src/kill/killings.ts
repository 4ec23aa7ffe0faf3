import { PodRuntimeError } from '../errors.ts';
import { MINIMUM_GRACE_PERIOD_SECONDS } from './grace-period.ts';

/**
 * The killing of one container, from the first attempt to the successful one: attempts may fail or be aborted for a
 * shorter grace period. Times are monotonic, in milliseconds.
 */
export class Killing {
  /** Cancels the `preStop` hook. */
  readonly hook: AbortController = new AbortController();
  /**
   * Run of the `preStop` hook, once started; never rejects. The hook runs only once, even if the attempt that started
   * the hook was aborted (C5).
   */
  preStop: Promise<void> | undefined;
  /** Whether the runtime reported the container as running although it was listed as created. */
  ran = false;
  /**
   * Whether the runtime could not kill the container even without signalling it first. The sandbox of such a container
   * may be stopped, which kills the container too.
   */
  isHopeless = false;
  #stopped = false;
  #exited = false;
  #deadlineMs = Number.POSITIVE_INFINITY;
  /**
   * Time until which the runtime may refuse to stop the container without counting as unable to; infinite if it never
   * refused.
   */
  #refusedUntilMs = Number.POSITIVE_INFINITY;

  /**
   * Starts another attempt to kill the container. The new grace period counts from now, but can only shorten the
   * deadline.
   */
  begin(nowMs: number, graceMs: number): void {
    this.#deadlineMs = Math.min(this.#deadlineMs, nowMs + graceMs);
  }

  /** Returns the rest of the grace period; negative if it is over. */
  leftMs(nowMs: number): number {
    return this.#deadlineMs - nowMs;
  }

  /** Notes that the container has stopped and cancels a running hook. */
  end(): void {
    this.#stopped = true;
    this.hook.abort(new PodRuntimeError('KillPod', 'the container has stopped'));
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /**
   * Notes that the container has exited before it was signalled. The `preStop` hook of the container is cancelled and
   * does not count as failed.
   */
  exit(): void {
    this.#exited = true;
    this.hook.abort(new PodRuntimeError('KillPod', 'the container has exited before it was signalled'));
  }

  get exited(): boolean {
    return this.#exited;
  }

  /** Restores the full grace period, because the runtime may not have signalled the container. */
  notSignalled(): void {
    this.#deadlineMs = Number.POSITIVE_INFINITY;
  }

  /**
   * Notes that the runtime refused to stop the container, for example because it does not know the image's stop signal.
   * The runtime's refusal may be temporary.
   * @returns whether the refusals have lasted for a whole grace period, so that they count as permanent
   */
  refused(nowMs: number): boolean {
    const soonestMs = nowMs + MINIMUM_GRACE_PERIOD_SECONDS * 1000;
    this.#refusedUntilMs = Math.min(this.#refusedUntilMs, Math.max(this.#deadlineMs, soonestMs));
    this.notSignalled();
    return nowMs >= this.#refusedUntilMs;
  }
}

/** Containers that are being killed, by pod. The containers of a pod are dropped together with the pod (K4). */
export class Killings {
  readonly #byPod = new Map<string, Map<string, Killing>>();

  /** Returns the killing of a container; creates it if it does not exist. */
  of(podUid: string, containerId: string): Killing {
    const ofPod = this.#byPod.get(podUid) ?? new Map<string, Killing>();
    this.#byPod.set(podUid, ofPod);
    const killing = ofPod.get(containerId) ?? new Killing();
    ofPod.set(containerId, killing);
    return killing;
  }

  /** Notes that a container has exited. Does nothing if the container is not being killed. */
  exited(podUid: string, containerId: string): void {
    this.#byPod.get(podUid)?.get(containerId)?.exit();
  }

  /** Returns whether a container that is being killed was found running. */
  ran(podUid: string, containerId: string): boolean {
    return this.#byPod.get(podUid)?.get(containerId)?.ran ?? false;
  }

  /** Returns whether the runtime cannot stop a container in any way. */
  isHopeless(podUid: string, containerId: string): boolean {
    return this.#byPod.get(podUid)?.get(containerId)?.isHopeless ?? false;
  }

  /** Notes that a container has stopped. */
  ended(podUid: string, containerId: string): void {
    const ofPod = this.#byPod.get(podUid);
    ofPod?.get(containerId)?.end();
    ofPod?.delete(containerId);
    if (ofPod?.size === 0) this.#byPod.delete(podUid);
  }

  /** Drops the containers of a pod that no longer exists, and cancels their hooks. */
  forget(podUid: string): void {
    for (const { hook } of this.#byPod.get(podUid)?.values() ?? []) hook.abort();
    this.#byPod.delete(podUid);
  }

  /** Number of containers being killed, for leak checks. */
  get size(): number {
    let size = 0;
    for (const ofPod of this.#byPod.values()) size += ofPod.size;
    return size;
  }
}
