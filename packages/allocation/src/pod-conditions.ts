import type { Clock } from '@node-agent/async';
import type { Pod, PodCondition } from '@node-agent/pod-spec';
import { type AllocationMetrics, countConditions } from './metrics.ts';
import {
  type ConditionNews,
  conditionList,
  conditionsOf,
  type PendingReason,
  type ResizeConditions,
  withInProgress,
  withoutInProgress,
  withoutPending,
  withPending,
} from './resize-conditions.ts';

const NONE: ResizeConditions = {};

/** Resize conditions of all pods. */
export class PodConditions {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #metrics: AllocationMetrics;
  readonly #conditions = new Map<string, ResizeConditions>();

  constructor(clock: Pick<Clock, 'now'>, metrics: AllocationMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  get(uid: string): ResizeConditions {
    return this.#conditions.get(uid) ?? NONE;
  }

  list(uid: string): readonly PodCondition[] {
    const known = this.#conditions.get(uid);
    return known === undefined ? [] : conditionList(known);
  }

  /** Reads the conditions of a pod from its status in the API, unless conditions of the pod are already known. */
  backfill({ metadata: { uid }, status }: Pod): void {
    if (!this.#conditions.has(uid)) this.#set(uid, conditionsOf(status?.conditions));
  }

  /** Sets the pending condition. @returns whether an event must be recorded */
  pending(uid: string, news: ConditionNews & { readonly reason: PendingReason }): boolean {
    const { conditions, told } = withPending(this.get(uid), news, this.#now());
    this.#set(uid, conditions);
    return told;
  }

  /** Sets the in-progress condition. @returns whether an event must be recorded */
  inProgress(uid: string, news: ConditionNews): boolean {
    const { conditions, told } = withInProgress(this.get(uid), news, this.#now());
    this.#set(uid, conditions);
    return told;
  }

  endPending(uid: string): void {
    if (this.get(uid).pending !== undefined) this.#set(uid, withoutPending(this.get(uid)));
  }

  /** Removes the in-progress condition. @returns the removed condition; `undefined` if there was none */
  endInProgress(uid: string): PodCondition | undefined {
    const { inProgress } = this.get(uid);
    if (inProgress !== undefined) this.#set(uid, withoutInProgress(this.get(uid)));
    return inProgress;
  }

  forget(uid: string): void {
    if (this.#conditions.delete(uid)) countConditions(this.#metrics, this.#conditions.values());
  }

  retain(uids: { has(uid: string): boolean }): void {
    for (const uid of [...this.#conditions.keys()]) if (!uids.has(uid)) this.forget(uid);
  }

  /** Stores the conditions. If both are unchanged, the stored object is kept. */
  #set(uid: string, conditions: ResizeConditions): void {
    const before = this.get(uid);
    if (before.pending === conditions.pending && before.inProgress === conditions.inProgress) return;
    if (conditions.pending === undefined && conditions.inProgress === undefined) this.#conditions.delete(uid);
    else this.#conditions.set(uid, conditions);
    countConditions(this.#metrics, this.#conditions.values());
  }

  /** Formats the current time in whole seconds, as the API does. */
  #now(): string {
    return `${new Date(this.#clock.now()).toISOString().slice(0, 19)}Z`;
  }
}
