import { isStaticPod, type Pod, podSource } from '@node-agent/pod-spec';
import type { Dependencies } from '../dependencies.ts';
import type { PodWorkersPort } from '../ports.ts';

/** UIDs that are in use on this node, or were until recently. */
export interface UidSets {
  /**
   * UIDs of the pods for which components may keep state: the pods present at the last housekeeping pass, and all pods
   * since (K4).
   */
  readonly tracked: ReadonlySet<string>;
  /**
   * UIDs of pods that terminated here and were forgotten, kept as long as the pod cache may still show them as running.
   */
  readonly terminated: ReadonlySet<string>;
}

/**
 * Returns the UIDs after a housekeeping pass.
 * @param present UIDs that a pod source, a pod worker or the runtime has
 * @param isGone returns whether the pod cache shows that the runtime has nothing of the pod
 * @returns `forgotten`: the tracked UIDs that are no longer present; components must drop their state (K4)
 */
export function uidsAfterHousekeeping(
  before: UidSets,
  present: ReadonlySet<string>,
  isGone: (uid: string) => boolean,
): UidSets & { readonly forgotten: readonly string[] } {
  const forgotten = [...before.tracked].filter((uid) => !present.has(uid));
  const terminated = [...before.terminated, ...forgotten].filter((uid) => !isGone(uid));
  return { tracked: present, terminated: new Set(terminated), forgotten };
}

/** Facts that decide whether an added pod continues a pod that already runs. */
export interface InstanceFacts {
  readonly hasWorker: boolean;
  /** Whether this kubelet process has tracked the UID before. */
  readonly wasTracked: boolean;
  /** Whether the pod is static and arrived after the first list of its source. */
  readonly isLateStatic: boolean;
  /** Whether the pod cache shows that a container or sandbox of the UID runs. */
  readonly isRunning: boolean;
}

/**
 * Returns whether the pod was already running when it was added, because an earlier kubelet started it. Two kinds of
 * pods are new instances although the cache shows them as running (N1, N9). The first kind is a pod that this kubelet
 * has terminated while the cache still shows it as running. The second kind is a static pod that arrives after the
 * first list of its source, because the pod was not desired in between. The second rule does not apply to the API
 * server, whose first list may be outdated.
 */
export function continuesRunningPod({ hasWorker, wasTracked, isLateStatic, isRunning }: InstanceFacts): boolean {
  const isNewInstance = (wasTracked || isLateStatic) && !hasWorker;
  return isRunning && !isNewInstance;
}

interface Components extends Pick<Dependencies, 'podConfig' | 'podCache'> {
  readonly workers: Pick<PodWorkersPort, 'explain'>;
}

/**
 * Keeps track of which pod UIDs this kubelet knows, from the moment a pod is added until the runtime no longer has it.
 * A UID can be used twice: a static pod whose manifest is removed and restored keeps its UID (P3).
 */
export class UidLifetimes {
  readonly #components: Components;
  #tracked = new Set<string>();
  #terminated: ReadonlySet<string> = new Set();

  constructor(components: Components) {
    this.#components = components;
  }

  /** Tracks the UID until a housekeeping pass finds that no source, pod worker or runtime has the pod. */
  track(uid: string): void {
    this.#tracked.add(uid);
  }

  isTracked(uid: string): boolean {
    return this.#tracked.has(uid);
  }

  tracked(): ReadonlySet<string> {
    return this.#tracked;
  }

  /** Returns whether a pod with this UID has terminated on this node and no pod worker has the UID again. */
  isReused(uid: string): boolean {
    return this.#terminated.has(uid) && !this.#hasWorker(uid);
  }

  /**
   * Updates the UIDs after a housekeeping pass, see {@link uidsAfterHousekeeping}.
   * @returns the UIDs whose state components must drop
   */
  retain(present: ReadonlySet<string>): readonly string[] {
    const { podCache } = this.#components;
    const isGone = (uid: string): boolean => podCache.get(uid) === undefined && podCache.hasSeen(uid);
    const before = { tracked: this.#tracked, terminated: this.#terminated };
    const { tracked, terminated, forgotten } = uidsAfterHousekeeping(before, present, isGone);
    this.#tracked = new Set(tracked);
    this.#terminated = terminated;
    return forgotten;
  }

  /**
   * Returns whether the pod was already running when it was added, see {@link continuesRunningPod}. The sync loop
   * starts after the runtime's pods were first listed, so pods of an earlier kubelet are in the pod cache.
   */
  continuesRunningPod(pod: Pod): boolean {
    const { uid, name, namespace } = pod.metadata;
    const { podConfig, podCache } = this.#components;
    return continuesRunningPod({
      hasWorker: this.#hasWorker(uid),
      wasTracked: this.#tracked.has(uid) || this.#terminated.has(uid),
      isLateStatic: isStaticPod(pod) && podConfig.sourceReady(podSource(pod)),
      isRunning: podCache.runningPods(name, namespace)?.includes(uid) ?? false,
    });
  }

  #hasWorker(uid: string): boolean {
    return this.#components.workers.explain(uid) !== undefined;
  }
}
