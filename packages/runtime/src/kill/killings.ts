import { PodRuntimeError } from '../errors.ts';
import { MINIMUM_GRACE_PERIOD_SECONDS } from './grace-period.ts';

/**
 * The killing of one container, from the first try to the one that succeeds: it may be broken off for a shorter grace period, and
 * fail, and is still one killing. All times are of the monotonic clock, in milliseconds.
 */
export class Killing {
  /** Ends the `preStop` hook. */
  readonly hook: AbortController = new AbortController();
  /** The hook, once it has begun; never rejects. It runs once, whatever becomes of the try that began it (C5). */
  preStop: Promise<void> | undefined;
  /** Whether the runtime has said that it runs, where it was taken to be created only. */
  ran = false;
  /** Whether the runtime could not even kill it without telling it to stop: its sandbox may take it along. */
  isHopeless = false;
  #stopped = false;
  #exited = false;
  #deadlineMs = Number.POSITIVE_INFINITY;
  /** Until when it may go on, though the runtime says that it cannot stop it; infinite where that was never said. */
  #refusedUntilMs = Number.POSITIVE_INFINITY;

  /** Another try: its grace period counts from now, but can only end the killing sooner. */
  begin(nowMs: number, graceMs: number): void {
    this.#deadlineMs = Math.min(this.#deadlineMs, nowMs + graceMs);
  }

  /** How much of the grace period is left; negative where it is over. */
  leftMs(nowMs: number): number {
    return this.#deadlineMs - nowMs;
  }

  /** The container has stopped: a hook that still runs has nothing left to prepare. */
  end(): void {
    this.#stopped = true;
    this.hook.abort(new PodRuntimeError('KillPod', 'the container has stopped'));
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Notes that the container has ended by itself, before it was signalled: its hook is given up, and has not failed. */
  exit(): void {
    this.#exited = true;
    this.hook.abort(new PodRuntimeError('KillPod', 'the container has ended by itself'));
  }

  get exited(): boolean {
    return this.#exited;
  }

  /** The runtime may not have told the container to stop: it has all of its grace period before it again. */
  notTold(): void {
    this.#deadlineMs = Number.POSITIVE_INFINITY;
  }

  /**
   * The runtime says that it cannot stop the container, as where it does not know the signal that the image asks for. That may pass.
   * @returns whether it has said so since what was a grace period ago: it always would
   */
  refused(nowMs: number): boolean {
    const soonestMs = nowMs + MINIMUM_GRACE_PERIOD_SECONDS * 1000;
    this.#refusedUntilMs = Math.min(this.#refusedUntilMs, Math.max(this.#deadlineMs, soonestMs));
    this.notTold();
    return nowMs >= this.#refusedUntilMs;
  }
}

/** The containers that are being killed, by pod: those of a pod that is gone are forgotten with it (K4). */
export class Killings {
  readonly #byPod = new Map<string, Map<string, Killing>>();

  /** The killing of a container: the one that was begun before, or a new one. */
  of(podUid: string, containerId: string): Killing {
    const ofPod = this.#byPod.get(podUid) ?? new Map<string, Killing>();
    this.#byPod.set(podUid, ofPod);
    const killing = ofPod.get(containerId) ?? new Killing();
    ofPod.set(containerId, killing);
    return killing;
  }

  /** Notes that a container has ended. Does nothing if the container is not being killed. */
  exited(podUid: string, containerId: string): void {
    this.#byPod.get(podUid)?.get(containerId)?.exit();
  }

  /** Whether a container is being killed that was found to run. */
  ran(podUid: string, containerId: string): boolean {
    return this.#byPod.get(podUid)?.get(containerId)?.ran ?? false;
  }

  /** Whether the runtime says that a container can in no way be stopped. */
  isHopeless(podUid: string, containerId: string): boolean {
    return this.#byPod.get(podUid)?.get(containerId)?.isHopeless ?? false;
  }

  /** The container has stopped. */
  ended(podUid: string, containerId: string): void {
    const ofPod = this.#byPod.get(podUid);
    ofPod?.get(containerId)?.end();
    ofPod?.delete(containerId);
    if (ofPod?.size === 0) this.#byPod.delete(podUid);
  }

  /** Forgets a pod that is gone; what still runs for it is told to end. */
  forget(podUid: string): void {
    for (const { hook } of this.#byPod.get(podUid)?.values() ?? []) hook.abort();
    this.#byPod.delete(podUid);
  }

  /** How many containers are being killed: a leak check. */
  get size(): number {
    let size = 0;
    for (const ofPod of this.#byPod.values()) size += ofPod.size;
    return size;
  }
}
