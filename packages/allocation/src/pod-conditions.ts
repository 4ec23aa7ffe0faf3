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

/** What the statuses of all pods say of their resizes. */
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

  /** Takes over what the API shows of a pod of which nothing is known here. */
  backfill({ metadata: { uid }, status }: Pod): void {
    if (!this.#conditions.has(uid)) this.#set(uid, conditionsOf(status?.conditions));
  }

  /** @returns whether an event is due */
  pending(uid: string, news: ConditionNews & { readonly reason: PendingReason }): boolean {
    const { conditions, told } = withPending(this.get(uid), news, this.#now());
    this.#set(uid, conditions);
    return told;
  }

  /** @returns whether an event is due */
  inProgress(uid: string, news: ConditionNews): boolean {
    const { conditions, told } = withInProgress(this.get(uid), news, this.#now());
    this.#set(uid, conditions);
    return told;
  }

  endPending(uid: string): void {
    if (this.get(uid).pending !== undefined) this.#set(uid, withoutPending(this.get(uid)));
  }

  /** @returns the condition that there was */
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

  /** What says nothing new stays the same object. */
  #set(uid: string, conditions: ResizeConditions): void {
    const before = this.get(uid);
    if (before.pending === conditions.pending && before.inProgress === conditions.inProgress) return;
    if (conditions.pending === undefined && conditions.inProgress === undefined) this.#conditions.delete(uid);
    else this.#conditions.set(uid, conditions);
    countConditions(this.#metrics, this.#conditions.values());
  }

  /** In whole seconds, as the API has times. */
  #now(): string {
    return `${new Date(this.#clock.now()).toISOString().slice(0, 19)}Z`;
  }
}
