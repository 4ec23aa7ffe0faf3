import { type Clock, checkComponents, StartOnce, TimeSlice } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { apiPodProblem, brokenPodReference, uidOf } from './api-pod.ts';
import type { PodChangeEvent, PodSourceInput } from './pod-config.ts';

/** A local copy of this node's pods that follows the API server; kube-client's `Reflector` satisfies this interface. */
export interface PodFeed {
  /** Resolves once all pods have been read. @throws the signal's reason */
  waitForSync(signal?: AbortSignal): Promise<void>;
  /**
   * Yields one value per existing pod and then one per change, coalesced if the consumer is slow. Ends with the feed.
   * `size` is the number of waiting values. After the initial pods, `synced` is yielded, even if there are no pods.
   */
  changes(): AsyncIterable<PodFeedChange> & Disposable & { readonly size: number };
}

/** A change of a pod of a {@link PodFeed}, identified by `key`. `synced` concerns no pod. */
export type PodFeedChange =
  | { readonly type: 'changed' | 'deleted'; readonly key: string; readonly object: Pod }
  | { readonly type: 'synced' };

/** Components of an {@link ApiSource}. */
export interface ApiSourceComponents {
  readonly feed: PodFeed;
  readonly set: PodSourceInput;
  /** Awaited before the first pods are delivered, because admission needs the node's labels. Default: no wait. */
  readonly nodeSynced?: (signal: AbortSignal) => Promise<void>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no events. */
  readonly recorder?: EventRecorder;
}

/** Newest object of a key of the feed. */
interface SeenObject {
  readonly object: Pod;
  /** Reason why the object cannot be run as a pod. */
  readonly problem: string | undefined;
  /** The object, or the last valid version of its pod; `undefined` if there is none. */
  readonly usable: Pod | undefined;
}

/**
 * The pods that the API server has bound to this node. The source is not ready until all pods have been read: an
 * unreachable API server does not mean that there are no pods (F1). Source: `pkg/kubelet/config/apiserver.go`.
 *
 * Unlike upstream, it rejects objects that cannot be run as pods (no `spec`, names that lead out of their directories)
 * with a log line and an event. A pod that was valid before keeps its last valid version (F2).
 */
export class ApiSource {
  readonly #components: WithDefaults<ApiSourceComponents>;
  readonly #seen = new Map<string, SeenObject>();
  readonly #startOnce = new StartOnce('ApiSource');

  constructor(components: ApiSourceComponents) {
    checkComponents('ApiSource', components, { feed: ['waitForSync', 'changes'], set: ['change'] });
    this.#components = withDefaults(components);
  }

  /** Delivers all pods once, and then the changed pods, until `signal` is aborted. */
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
   * The first list is built from the changes and not from the feed's copy. A pod that is added and removed before the
   * changes are read leaves no change, so a list made from the copy could keep the pod forever.
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
      // The changes of a new list arrive together, and pods that arrive together are admitted oldest first.
      if (changes.size > 0) continue;
      if (!isListed) set([...this.#seen.values()].flatMap(({ usable }) => usable ?? []));
      else if (batch.length > 0) set.change(batch);
      isListed = true;
      batch = [];
    }
  }

  /** Records a change of the feed. @returns the resulting change for the consumer, if any */
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
    this.#components.logger.error(fields, 'Rejected a pod of the API server');
    const ignored = isKept ? 'keeping its last good version' : 'ignoring';
    this.#components.recorder.event(
      reference,
      'Warning',
      eventReasons.failedValidation,
      `Error validating pod ${name}_${namespace}(${uid}) from api due to ${problem}, ${ignored}`,
    );
  }
}
