import { isStaticPod, mayRun, type Pod, podSource, type RuntimePod } from '@node-agent/pod-spec';
import type { Dependencies } from '../dependencies.ts';
import type { PodWorkersPort } from '../ports.ts';
import { replacedPods } from './replaced-pods.ts';

interface Components extends Pick<Dependencies, 'podConfig' | 'podManager' | 'podCache'> {
  readonly workers: Pick<PodWorkersPort, 'updatePod' | 'explain'>;
  /** Terminates a pod that only the runtime knows. */
  readonly killOrphan: (runningPod: RuntimePod) => void;
}

/**
 * Decides which removed pods are terminated before all pod sources are ready, and which only afterwards (F1). A pod is
 * terminated early only if it has not started, or if a static pod of the same source replaces it. The wait could
 * otherwise last forever: the API server, which is one of the sources, may run in the very static pod that waits to
 * replace the removed one (F4).
 */
export class EarlyTerminations {
  readonly #components: Components;
  /** Pods that were removed before all sources were ready. */
  readonly #removed = new Map<string, Pod>();

  constructor(components: Components) {
    this.#components = components;
  }

  /**
   * Handles a pod that its source has removed while not all sources are ready.
   * @returns whether the pod is terminated although not all sources are ready
   */
  podRemoved(pod: Pod): boolean {
    if (this.#hasStarted(pod)) {
      this.#removed.set(pod.metadata.uid, pod);
      return false;
    }
    this.#components.workers.updatePod({ updateType: 'kill', pod });
    return true;
  }

  /** Terminates the pods that were removed early and not added again; called once all sources are ready. */
  terminateAll(): void {
    const { podManager, workers } = this.#components;
    for (const [uid, pod] of this.#removed) {
      if (podManager.getPodByUid(uid) === undefined) workers.updatePod({ updateType: 'kill', pod });
    }
    this.#removed.clear();
  }

  /** Forgets the removed pods, because housekeeping terminates all unwanted pods. */
  clear(): void {
    this.#removed.clear();
  }

  /** Terminates the removed pods that are replaced by a pod that has been added. */
  terminateReplaced(): void {
    if (this.#removed.size === 0) return;
    const { podManager, podConfig, workers } = this.#components;
    const removed = Array.from(this.#removed.values(), (pod) => ({ ...pod.metadata, source: podSource(pod), pod }));
    const stale = replacedPods(podManager.getPods(), removed, (source) => podConfig.sourceReady(source));
    for (const { uid, pod } of stale) {
      this.#removed.delete(uid);
      workers.updatePod({ updateType: 'kill', pod });
    }
  }

  /**
   * Returns whether a pod that only the runtime knows may block a static pod of the same name. If so, {@link
   * killReplacedOrphans} must be called with the runtime's pods.
   */
  mayHaveReplacedOrphans(): boolean {
    const { podManager, podConfig, podCache } = this.#components;
    return podManager.getPods().some((pod) => {
      if (!isStaticPod(pod) || !podConfig.sourceReady(podSource(pod))) return false;
      const { name, namespace } = pod.metadata;
      return podCache.runningPods(name, namespace)?.some((uid) => this.#isUnknown(uid)) ?? false;
    });
  }

  /** Terminates the pods of the runtime that a static pod replaces. */
  killReplacedOrphans(listed: readonly RuntimePod[]): void {
    const { podManager, podConfig, killOrphan } = this.#components;
    const unknown = listed.filter((pod) => mayRun(pod) && this.#isUnknown(pod.uid));
    for (const pod of replacedPods(podManager.getPods(), unknown, (source) => podConfig.sourceReady(source))) {
      killOrphan(pod);
    }
  }

  /**
   * Returns whether the pod has started. A pod that waits for its full name has not started, unless an earlier kubelet
   * process has started it.
   */
  #hasStarted({ metadata: { uid, name, namespace } }: Pod): boolean {
    const { workers, podCache } = this.#components;
    if (workers.explain(uid)?.activity.kind !== 'waitingForFullName') return true;
    return podCache.runningPods(name, namespace)?.includes(uid) ?? true;
  }

  /** Returns whether neither a pod source nor a pod worker knows the pod. */
  #isUnknown(uid: string): boolean {
    const { podManager, workers } = this.#components;
    return podManager.getPodByUid(uid) === undefined && workers.explain(uid) === undefined;
  }
}
