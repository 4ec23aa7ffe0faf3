import type { Observation } from '../observation.ts';
import { restartsAll } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import type { Facts } from './facts.ts';

/** When the exit of a container asked for all of its pod to begin anew (KEP-5532), and when that was done. */
export class RestartAllFacts {
  readonly #facts: Facts;
  readonly #askedAtMs = new Map<string, number>();
  readonly #surelyAskedBy = new Map<string, Life>();
  readonly #doneAtMs = new Map<string, number>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** When that was last asked of a pod; -1 where it never was. Who asks while it is told to stop may not be heard. */
  askedAtMs(uid: string): number {
    return this.#askedAtMs.get(uid) ?? -1;
  }

  /** When that was last asked so that it must have been heard; -1 where it never was, or the pod was to end since. */
  surelyAskedAtMs(uid: string): number {
    const askedAtMs = this.#surelyAskedBy.get(uid)?.endedAtMs ?? -1;
    return askedAtMs > this.#facts.pods.lastUnwantedAtMs(uid) ? askedAtMs : -1;
  }

  /** When the record of a container that had asked was first to be removed since, the last of all: what started before is gone. -1 where none was. */
  doneAtMs(uid: string): number {
    return this.#doneAtMs.get(uid) ?? -1;
  }

  /** Whether a run of a container is, or was, one of those that go so that all begin anew. */
  mayEnd({ podUid, startedAtMs }: Life): boolean {
    const askedAtMs = this.askedAtMs(podUid);
    return askedAtMs >= 0 && (askedAtMs >= startedAtMs || this.doneAtMs(podUid) < askedAtMs);
  }

  /** Whether a run of a container began before all of its pod did anew, or were to. */
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
    // Records of dead containers are the first to go for a lack of disk.
    if (!isStopped && isWanted && runtimeUp && !resources.diskWasShort) this.#surelyAskedBy.set(podUid, life);
  }

  /** Its exit may not have been seen before its record went. */
  #onRemoved(id: string): void {
    const life = this.#facts.lives.byId(id);
    if (life !== undefined && this.#surelyAskedBy.get(life.podUid) === life) this.#surelyAskedBy.delete(life.podUid);
  }

  /** One that ended right when it was to be stopped for another reason is started again without a look at its exit. */
  #onStart({ podUid, name }: Life): void {
    const life = this.#surelyAskedBy.get(podUid);
    if (life?.name === name && this.#facts.stopAskedAtMs(life.id) !== undefined) this.#surelyAskedBy.delete(podUid);
  }
}
