import { type Clock, checkComponents, StartOnce, TimeSlice } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { apiPodProblem, brokenPodReference, uidOf } from './api-pod.ts';
import type { PodChangeEvent, PodSourceInput } from './pod-config.ts';

/** A copy of the API server's pods of this node that follows it: a `Reflector` of kube-client fits. */
export interface PodFeed {
  /** Resolves once all of them have been read. @throws the signal's reason */
  waitForSync(signal?: AbortSignal): Promise<void>;
  /**
   * A value for each pod that there is, then for each change, coalesced if this consumer is slow; ends with the feed. `size` is how many
   * of them wait. The first values end with `synced`, also if there are no pods.
   */
  changes(): AsyncIterable<PodFeedChange> & Disposable & { readonly size: number };
}

/** What became of a pod of a {@link PodFeed}, which is known there by `key`; `synced` says nothing of any pod. */
export type PodFeedChange =
  | { readonly type: 'changed' | 'deleted'; readonly key: string; readonly object: Pod }
  | { readonly type: 'synced' };

/** What an {@link ApiSource} works with. */
export interface ApiSourceComponents {
  readonly feed: PodFeed;
  readonly set: PodSourceInput;
  /** Waited for before the first pods are told: admission looks at the node's labels. Nothing where absent. */
  readonly nodeSynced?: (signal: AbortSignal) => Promise<void>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Nobody is told where absent. */
  readonly recorder?: EventRecorder;
}

/** The newest object of a key of the feed. */
interface SeenObject {
  readonly object: Pod;
  /** Why the object cannot be run as a pod. */
  readonly problem: string | undefined;
  /** The object, or the last good version of its pod; `undefined` if there is none. */
  readonly usable: Pod | undefined;
}

/**
 * The pods that the API server has bound to this node. Before it has read all of them it says nothing: an API server that
 * is away is not one without pods (F1). Source: `pkg/kubelet/config/apiserver.go`.
 *
 * Unlike upstream, it refuses objects that cannot be run as pods (no `spec`, names that lead out of their directories), with a log line and
 * an event. A pod that was good before keeps its last good version (F2).
 */
export class ApiSource {
  readonly #components: WithDefaults<ApiSourceComponents>;
  readonly #seen = new Map<string, SeenObject>();
  readonly #startOnce = new StartOnce('ApiSource');

  constructor(components: ApiSourceComponents) {
    checkComponents('ApiSource', components, { feed: ['waitForSync', 'changes'], set: ['change'] });
    this.#components = withDefaults(components);
  }

  /** Gives all pods once, and then those that have changed, until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { feed, nodeSynced } = this.#components;
    using changes = feed.changes();
    const end = (): void => changes[Symbol.dispose]();
    signal.addEventListener('abort', end, { once: true });
    try {
      await feed.waitForSync(signal);
      await nodeSynced?.(signal);
      await this.#follow(changes, signal);
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  /**
   * The first list is taken from the changes, not from a copy of the feed's objects: a pod that comes and goes while it waits there
   * leaves no change, so that a list from elsewhere would keep the pod for ever.
   */
  async #follow(changes: ReturnType<PodFeed['changes']>, signal: AbortSignal): Promise<void> {
    const { set } = this.#components;
    const slice = new TimeSlice(this.#components);
    let isListed = false;
    let batch: PodChangeEvent[] = [];
    for await (const change of changes) {
      if (signal.aborted) return;
      if (change.type !== 'synced') {
        const event = this.#take(change);
        if (event !== undefined && isListed) batch.push(event);
      }
      if (changes.size > 0 && slice.isDue()) await slice.pause(signal);
      // A list that was read again brings its changes together, and pods that came together are admitted oldest first.
      if (changes.size > 0) continue;
      if (!isListed) set([...this.#seen.values()].flatMap(({ usable }) => usable ?? []));
      else if (batch.length > 0) set.change(batch);
      isListed = true;
      batch = [];
    }
  }

  /** Notes a change of the feed. @returns what it changes for the consumer, if anything */
  #take({ type, key, object }: Exclude<PodFeedChange, { type: 'synced' }>): PodChangeEvent | undefined {
    const before = this.#seen.get(key);
    if (before?.object === object && type === 'changed') return undefined;
    const after = type === 'changed' ? this.#judge(object, before) : undefined;
    if (after === undefined) this.#seen.delete(key);
    else this.#seen.set(key, after);
    if (after?.usable === before?.usable) return undefined;
    if (after?.usable !== undefined) return { pod: after.usable };
    return before?.usable && { pod: before.usable, gone: true };
  }

  #judge(object: Pod, before: SeenObject | undefined): SeenObject {
    const problem = apiPodProblem(object);
    if (problem === undefined) return { object, problem, usable: object };
    const lastGood = before?.usable;
    const usable = lastGood?.metadata.uid === uidOf(object) ? lastGood : undefined;
    if (problem !== before?.problem) this.#report(object, problem, usable !== undefined);
    return { object, problem, usable };
  }

  #report(object: Pod, problem: string, isKept: boolean): void {
    const reference = brokenPodReference(object);
    const { namespace, name, uid } = reference;
    const fields = { pod: `${namespace}/${name}`, podUid: uid, problem, lastGoodVersionIsKept: isKept };
    this.#components.logger.error(fields, 'Refused a pod of the API server');
    const ignored = isKept ? 'keeping its last good version' : 'ignoring';
    this.#components.recorder.event(
      reference,
      'Warning',
      eventReasons.failedValidation,
      `Error validating pod ${name}_${namespace}(${uid}) from api due to ${problem}, ${ignored}`,
    );
  }
}
