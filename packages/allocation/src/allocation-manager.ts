import { type Clock, checkComponents, checkOptions, sleep } from '@node-agent/async';
import {
  type Pod,
  type PodCondition,
  podReference,
  type ResourceRequirements,
  type RuntimePodStatus,
} from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { holdsLess, resourcesOf, withResources } from './allocated-pod.ts';
import { type AllocationMetrics, makeAllocationMetrics } from './metrics.ts';
import { PodConditions } from './pod-conditions.ts';
import {
  ACTUATED_PODS_STATE,
  ALLOCATED_PODS_STATE,
  PodResourceState,
  type PodResourceStateComponents,
} from './pod-resource-state.ts';
import type { PodResources } from './pod-resources.ts';
import { RESIZE_ERROR } from './resize-conditions.ts';
import { isResizeInProgress } from './resize-in-progress.ts';
import { resizeMessage } from './resize-message.ts';
import { podLevelChanges, resizeOperations } from './resize-operations.ts';
import type { ResizeNode } from './resize-refusal.ts';
import { type AdmitResize, type AllocationPods, type RetryTrigger, WaitingResizes } from './waiting-resizes.ts';

const LOAD_RETRY_MS = 1000;
const TRANSIENT: ReadonlySet<string> = new Set([
  ...['EIO', 'ENOSPC', 'EDQUOT', 'EAGAIN', 'EBUSY', 'EINTR', 'EMFILE', 'ENFILE', 'ENOMEM', 'ESTALE', 'ETIMEDOUT'],
]);

/** What an {@link AllocationManager} works with. */
export interface AllocationComponents extends PodResourceStateComponents {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** Nobody is told where absent. */
  readonly recorder?: EventRecorder;
  readonly pods: AllocationPods;
  readonly admit: AdmitResize;
  /** Told of pods that are to be synced where what was decided about them took its time; nobody is told where absent. */
  readonly onDecided?: (uids: readonly string[]) => void;
}

/** What an {@link AllocationManager} is told. */
export interface AllocationOptions {
  /** The kubelet's root directory: the two state files are in it. */
  readonly directory: string;
  /** What decides whether a resize can be at all; upstream's defaults where absent. */
  readonly node?: ResizeNode;
}

const NOTHING: PodResources = { containers: {} };

/**
 * What each pod was granted of the node, apart from what its spec asks (KEP-1287, KEP-5419; `pkg/kubelet/allocation`): on disk, so that
 * it survives the process; and the resizes that wait for room, with what their pods' statuses say of them.
 */
export class AllocationManager {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #recorder: EventRecorder;
  readonly #metrics: AllocationMetrics;
  readonly #node: ResizeNode;
  readonly #allocated: PodResourceState;
  readonly #actuated: PodResourceState;
  readonly #conditions: PodConditions;
  readonly #waiting: WaitingResizes;
  #ending: AbortSignal = new AbortController().signal;
  /** Pods as granted, by UID: the same pod asked for again is the same object. */
  readonly #known = new Map<
    string,
    { readonly pod: Pod; readonly granted: PodResources | undefined; readonly is: Pod }
  >();

  constructor(given: AllocationComponents, options: AllocationOptions) {
    checkOptions('AllocationManager', options, { directory: 'string', node: 'object?' });
    checkComponents('AllocationManager', given, {
      pods: ['active', 'byUid', 'sourcesReady'],
      admit: 'function',
      fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'],
    });
    const { clock, logger, metrics, recorder, fs, pods, admit, onDecided = () => {} } = withDefaults(given);
    this.#clock = clock;
    this.#logger = logger;
    this.#recorder = recorder;
    this.#metrics = makeAllocationMetrics(metrics);
    this.#node = options.node ?? {};
    const { directory } = options;
    this.#allocated = new PodResourceState({ fs }, { directory, name: ALLOCATED_PODS_STATE });
    this.#actuated = new PodResourceState({ fs }, { directory, name: ACTUATED_PODS_STATE });
    this.#conditions = new PodConditions(clock, this.#metrics);
    this.#waiting = new WaitingResizes({
      ...{ clock, logger, recorder, pods, admit, onDecided, grants: this, ending: () => this.#ending },
      ...{ metrics: this.#metrics, node: this.#node, conditions: this.#conditions },
    });
  }

  /**
   * Reads what an earlier process has written; to be called before anything else. A disk that fails is asked again each second: what
   * runs goes on meanwhile, and would not be known for what it was granted without that. Nothing is written before it has succeeded.
   * @param signal aborted when all is to end: nobody is ended any more then for somebody's room
   * @throws AllocationError `Unreadable` where a file is not what was written; the signal's reason
   */
  async load(signal?: AbortSignal): Promise<void> {
    if (signal !== undefined) this.#ending = signal;
    await this.#allocated.removeLeftovers().catch((err: unknown) => {
      this.#logger.warn({ err }, 'What an earlier process left half written cannot be removed');
    });
    await Promise.all([this.#allocated, this.#actuated].map((state) => this.#loaded(state, signal)));
  }

  async #loaded(state: PodResourceState, signal: AbortSignal | undefined): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await state.load();
      } catch (err) {
        if (!(err instanceof Error && isOfTheDisk(err.cause))) throw err;
        if (tries === 0)
          this.#logger.error({ err }, 'What pods were granted cannot be read; it is tried again until it can');
      }
      await sleep(this.#clock, LOAD_RETRY_MS, signal);
    }
  }

  /** The pod with what it was granted in the place of what it asks for; as it is, where nothing was granted or both are the same. */
  allocated(pod: Pod): Pod {
    const { uid } = pod.metadata;
    const granted = this.#allocated.get(uid);
    const known = this.#known.get(uid);
    if (known?.pod === pod && known.granted === granted) return known.is;
    const is = this.#asGranted(pod);
    if (granted !== undefined) this.#known.set(uid, { pod, granted, is });
    return is;
  }

  /** Whether anything was granted to it, by an earlier process too. */
  hasGrant(uid: string): boolean {
    return this.#allocated.get(uid) !== undefined;
  }

  /** The pod has what it asks for: {@link saved} says when that is on disk. */
  grant(pod: Pod): void {
    this.#allocated.set(pod.metadata.uid, resourcesOf(pod, this.#node));
  }

  /** Resolves once what the pod was granted is on disk: nothing of it starts, or is resized, before. @throws the file system's error */
  async saved(uid: string): Promise<void> {
    await this.#allocated.saved(uid);
  }

  /** What was applied to a container last; `undefined` where that is not known. */
  appliedToContainer(uid: string, name: string): ResourceRequirements | undefined {
    const { containers } = this.#actuated.get(uid) ?? NOTHING;
    return Object.hasOwn(containers, name) ? containers[name] : undefined;
  }

  /** What was applied to a pod as a whole last. */
  appliedToPod(uid: string): ResourceRequirements | undefined {
    return this.#actuated.get(uid)?.pod;
  }

  /** A container has these resources now, or is about to be created with them. @throws the file system's error: it is not on disk */
  async containerApplied(uid: string, name: string, resources: ResourceRequirements): Promise<void> {
    this.#actuated.setContainer(uid, name, resources);
    await this.#actuated.saved(uid);
  }

  /** As {@link containerApplied}, of the pod's own resources. */
  async podApplied(uid: string, resources: ResourceRequirements): Promise<void> {
    this.#actuated.setPod(uid, resources);
    await this.#actuated.saved(uid);
  }

  /** Forgets a pod that is gone. The file is written with the next grant. */
  forget(uid: string): void {
    this.#allocated.remove(uid);
    this.#actuated.remove(uid);
    this.#known.delete(uid);
    this.#waiting.ended(uid);
  }

  /** Forgets all pods but these, those of an earlier process too. */
  retain(uids: { has(uid: string): boolean }): void {
    const known = [...this.#allocated.uids(), ...this.#actuated.uids(), ...this.#waiting.uids(), ...this.#known.keys()];
    for (const uid of new Set(known)) if (!uids.has(uid)) this.forget(uid);
    this.#conditions.retain(uids);
  }

  /**
   * Pods came that have their grant. One that asks for something else, as it was changed while no kubelet ran, waits for that.
   * @returns the UIDs of pods that are to be synced
   */
  added(pods: readonly Pod[]): readonly string[] {
    let waits = false;
    for (const pod of pods) {
      this.#conditions.backfill(pod);
      if (this.allocated(pod) === pod) {
        // An earlier process has granted it, and could not tell the API; upstream says of it for good that it waits.
        this.#conditions.endPending(pod.metadata.uid);
        continue;
      }
      this.#waiting.add(pod.metadata.uid);
      waits = true;
    }
    return waits ? this.retry('pods_added') : [];
  }

  /** A pod was changed by its source. @returns the UIDs of pods that are to be synced */
  updated(before: Pod | undefined, pod: Pod): readonly string[] {
    const { uid } = pod.metadata;
    if (before !== undefined) {
      const operations = resizeOperations(before, pod, this.#node);
      for (const operation of operations) this.#metrics.requested.inc({ ...operation });
      if (operations.length === 0 && !podLevelChanges(before, pod)) return [];
    }
    if (this.allocated(pod) === pod) {
      // It may have been taken back.
      this.#waiting.remove(uid);
      this.#conditions.endPending(uid);
      return [];
    }
    this.#waiting.add(uid);
    return this.retry('pod_updated');
  }

  /** The status of a pod was changed. @returns the UIDs of pods that are to be synced */
  reconciled(before: Pod | undefined, pod: Pod): readonly string[] {
    if (this.#waiting.size === 0 || before === undefined) return [];
    // Of both as granted: what the pod asks for is another matter.
    const [held, holds] = [this.#asGranted(before), this.#asGranted(pod)];
    return holdsLess(held, holds) ? this.retry('pod_resized') : [];
  }

  /** Something may have made room. @returns the UIDs of pods that are to be synced, as their grant or their condition is another */
  retry(trigger: RetryTrigger): readonly string[] {
    return this.#waiting.retry(trigger);
  }

  /**
   * To be called every 30 s or so: tries again what waits, once nothing has been tried for 3 min; for 30 s, where the sources had not told of
   * their pods.
   */
  retryOverdue(): readonly string[] {
    return this.#waiting.retryOverdue();
  }

  /** The pod is about to be synced: whether its resize goes on, or has come to its end, is part of its status. @param pod as granted */
  observe(pod: Pod, status: RuntimePodStatus): void {
    const { uid, generation } = pod.metadata;
    if (isResizeInProgress(pod, status, this.#actuated.get(uid), this.#node)) {
      this.#conditions.inProgress(uid, { observedGeneration: generation });
      return;
    }
    const ended = this.#conditions.endInProgress(uid);
    if (ended === undefined) return;
    const message = resizeMessage('Pod resize completed', pod, ended.observedGeneration);
    this.#recorder.event(podReference(pod), 'Normal', eventReasons.resizeCompleted, message);
  }

  /** A resize could not be carried out; it is tried again with the pod's next sync. @param pod as granted */
  failed(pod: Pod, message: string): void {
    const { uid, generation } = pod.metadata;
    const news = { reason: RESIZE_ERROR, message, observedGeneration: generation };
    if (!this.#conditions.inProgress(uid, news)) return;
    const { inProgress } = this.#conditions.get(uid);
    const text = resizeMessage('Pod resize error', pod, inProgress?.observedGeneration, message);
    this.#recorder.event(podReference(pod), 'Warning', eventReasons.resizeError, text);
  }

  /** What the pod's status says of its resize: PodResizePending and PodResizeInProgress, where they hold. */
  conditions(uid: string): readonly PodCondition[] {
    return this.#conditions.list(uid);
  }

  /** The pod has come to its end, and with it its resize. */
  ended(uid: string): void {
    this.#waiting.ended(uid);
  }

  /** Whether any resize waits for room. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  #asGranted(pod: Pod): Pod {
    const granted = this.#allocated.get(pod.metadata.uid);
    return granted === undefined ? pod : withResources(pod, granted, this.#node);
  }
}

/** What may pass by itself: the path names what it should, and the disk, or what the process may have open, is not well. */
function isOfTheDisk(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return TRANSIENT.has(String(code));
}
