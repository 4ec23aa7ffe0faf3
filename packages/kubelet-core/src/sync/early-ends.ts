import { isStaticPod, mayRun, type Pod, podSource, type RuntimePod } from '@node-agent/pod-spec';
import type { Dependencies } from '../dependencies.ts';
import type { PodWorkersPort } from '../ports.ts';
import { staleNamesakes } from './stale-namesakes.ts';

interface Components extends Pick<Dependencies, 'podConfig' | 'podManager' | 'podCache'> {
  readonly workers: Pick<PodWorkersPort, 'updatePod' | 'explain'>;
  /** Ends a pod that only the runtime knows. */
  readonly killOrphan: (runningPod: RuntimePod) => void;
}

/**
 * Who is ended before all sources have spoken, and who waits for that (F1): only a pod goes of which nothing has begun, or whose place a
 * static pod of the same source has taken. Such a source may be all that ever speaks, as the API server can be the very pod that waits for
 * its place (F4).
 */
export class EarlyEnds {
  readonly #components: Components;
  /** The pods that were removed before all sources were ready. */
  readonly #removed = new Map<string, Pod>();

  constructor(components: Components) {
    this.#components = components;
  }

  /**
   * Its source no longer has the pod, and not all sources are ready.
   * @returns whether it is ended nevertheless
   */
  removed(pod: Pod): boolean {
    if (this.#hasBegun(pod)) {
      this.#removed.set(pod.metadata.uid, pod);
      return false;
    }
    this.#components.workers.updatePod({ updateType: 'kill', pod });
    return true;
  }

  /** All sources are ready: whoever was removed, and was not brought again, is ended. */
  endAll(): void {
    const { podManager, workers } = this.#components;
    for (const [uid, pod] of this.#removed) {
      if (podManager.getPodByUid(uid) === undefined) workers.updatePod({ updateType: 'kill', pod });
    }
    this.#removed.clear();
  }

  /** A clean-up ends all that is not wanted: nothing is left to be done here. */
  clear(): void {
    this.#removed.clear();
  }

  /** Pods have come: whoever was removed, and has its place taken by one of them, is ended. */
  endReplaced(): void {
    if (this.#removed.size === 0) return;
    const { podManager, podConfig, workers } = this.#components;
    const removed = Array.from(this.#removed.values(), (pod) => ({ ...pod.metadata, source: podSource(pod), pod }));
    const stale = staleNamesakes(podManager.getPods(), removed, (source) => podConfig.sourceReady(source));
    for (const { uid, pod } of stale) {
      this.#removed.delete(uid);
      workers.updatePod({ updateType: 'kill', pod });
    }
  }

  /** Whether a pod that only the runtime knows may keep a static pod from its place: then {@link endNamesakes} has to look. */
  mayHaveNamesakes(): boolean {
    const { podManager, podConfig, podCache } = this.#components;
    return podManager.getPods().some((pod) => {
      if (!isStaticPod(pod) || !podConfig.sourceReady(podSource(pod))) return false;
      const { name, namespace } = pod.metadata;
      return podCache.runningPods(name, namespace)?.some((uid) => this.#isUnknown(uid)) ?? false;
    });
  }

  /** Ends those of the runtime's pods whose place is taken. */
  endNamesakes(listed: readonly RuntimePod[]): void {
    const { podManager, podConfig, killOrphan } = this.#components;
    const unknown = listed.filter((pod) => mayRun(pod) && this.#isUnknown(pod.uid));
    for (const pod of staleNamesakes(podManager.getPods(), unknown, (source) => podConfig.sourceReady(source))) {
      killOrphan(pod);
    }
  }

  /** Not one that waits for another of its name, unless an earlier process has begun it. */
  #hasBegun({ metadata: { uid, name, namespace } }: Pod): boolean {
    const { workers, podCache } = this.#components;
    if (workers.explain(uid)?.activity.kind !== 'waitingForFullName') return true;
    return podCache.runningPods(name, namespace)?.includes(uid) ?? true;
  }

  /** Neither a source has it nor a worker. */
  #isUnknown(uid: string): boolean {
    const { podManager, workers } = this.#components;
    return podManager.getPodByUid(uid) === undefined && workers.explain(uid) === undefined;
  }
}
