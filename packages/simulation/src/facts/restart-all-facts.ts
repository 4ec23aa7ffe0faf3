import type { Observation } from '../observation.ts';
import { restartsAll } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import type { Facts } from './facts.ts';

/**
 * Times at which the exit of a container required a restart of all containers of its pod (KEP-5532), and times of the
 * restarts.
 */
export class RestartAllFacts {
  readonly #facts: Facts;
  readonly #askedAtMs = new Map<string, number>();
  readonly #surelyAskedBy = new Map<string, Life>();
  readonly #doneAtMs = new Map<string, number>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /**
   * Time of the last exit in a pod that required a restart of all its containers; -1 if there was none. The kubelet may
   * not notice an exit that happens while the container is being stopped.
   */
  askedAtMs(uid: string): number {
    return this.#askedAtMs.get(uid) ?? -1;
  }

  /**
   * Time of the last exit in a pod that required a restart of all its containers and that the kubelet must have
   * noticed; -1 if there was none, or if the pod was removed since.
   */
  surelyAskedAtMs(uid: string): number {
    const askedAtMs = this.#surelyAskedBy.get(uid)?.endedAtMs ?? -1;
    return askedAtMs > this.#facts.pods.lastUnwantedAtMs(uid) ? askedAtMs : -1;
  }

  /**
   * Time at which the kubelet first requested the removal of the record whose exit required a restart of all
   * containers; -1 if the kubelet has not. The record of this exit is removed last, so the restart has dealt with all
   * earlier runs.
   */
  doneAtMs(uid: string): number {
    return this.#doneAtMs.get(uid) ?? -1;
  }

  /** Reports whether a run may be stopped, or may have been stopped, in order to restart all containers. */
  mayEnd({ podUid, startedAtMs }: Life): boolean {
    const askedAtMs = this.askedAtMs(podUid);
    return askedAtMs >= 0 && (askedAtMs >= startedAtMs || this.doneAtMs(podUid) < askedAtMs);
  }

  /**
   * Reports whether a run started before the last restart of all containers, or before the exit that requires a restart
   * of all containers.
   */
  isOver({ podUid, startedAtMs }: Life): boolean {
    return Math.max(this.askedAtMs(podUid), this.doneAtMs(podUid)) >= startedAtMs;
  }

  observe(observation: Observation): void {
    if (observation.kind === 'containerEnded') this.#onEnd(observation.life);
    if (observation.kind === 'containerStarted') this.#onStart(observation.life);
    if (observation.kind === 'recordRemoved') this.#onRemoved(observation.id);
    if (observation.kind !== 'call' || observation.call.name !== 'removeContainer') return;
    const { containerId = '' } = (observation.call.args[0] ?? {}) as { readonly containerId?: string };
    const life = this.#facts.lives.byId(containerId);
    if (life?.exitCode === undefined || !restartsAll(life.plan, life)) return;
    const { podUid, endedAtMs = 0 } = life;
    const isNewest = this.#facts.lives.of(podUid, life.name).at(-1) === life;
    if (isNewest && this.doneAtMs(podUid) < endedAtMs) this.#doneAtMs.set(podUid, observation.atMs);
  }

  #onEnd(life: Life): void {
    if (!restartsAll(life.plan, life)) return;
    const { podUid, id, termAtMs, endedAtMs = 0 } = life;
    const { pods, runtimeUp, resources } = this.#facts;
    this.#askedAtMs.set(podUid, endedAtMs);
    const isStopped = termAtMs !== undefined || this.#facts.stopAskedAtMs(id) !== undefined;
    const isWanted = pods.wanted.has(podUid) && pods.lastUnwantedAtMs(podUid) < life.startedAtMs;
    // Records of exited containers are the first to be removed when disk is short.
    if (!isStopped && isWanted && runtimeUp && !resources.diskWasShort) this.#surelyAskedBy.set(podUid, life);
  }

  /**
   * Drops the claim that the kubelet must have noticed an exit: the kubelet may not have seen the exit before its
   * record was removed.
   */
  #onRemoved(id: string): void {
    const life = this.#facts.lives.byId(id);
    if (life !== undefined && this.#surelyAskedBy.get(life.podUid) === life) this.#surelyAskedBy.delete(life.podUid);
  }

  /**
   * Drops the claim that the kubelet must have noticed an exit: a container that exited while it was being stopped for
   * another reason is restarted without evaluating its exit code.
   */
  #onStart({ podUid, name }: Life): void {
    const life = this.#surelyAskedBy.get(podUid);
    if (life?.name === name && this.#facts.stopAskedAtMs(life.id) !== undefined) this.#surelyAskedBy.delete(podUid);
  }
}
