import type { PodWorkers } from '@node-agent/pod-workers';
import type { Deferred } from './deferred.ts';

type PodWorkerQueries = Pick<
  PodWorkers,
  | 'wake'
  | 'isPodTerminationRequested'
  | 'shouldPodContentBeRemoved'
  | 'shouldPodRuntimeBeRemoved'
  | 'couldHaveRunningContainers'
  | 'isPodForMirrorPodTerminatingByFullName'
  | 'shouldPodBeFinished'
  | 'killPodNow'
>;

/**
 * Methods of the pod workers that other components call. The components are created before the kubelet stage creates
 * the pod workers, so each call is forwarded when it is made.
 */
export class PodLinks implements PodWorkerQueries {
  readonly #workers: Deferred<PodWorkers>;

  constructor(workers: Deferred<PodWorkers>) {
    this.#workers = workers;
  }

  wake(uid: string): void {
    this.#workers.value.wake(uid);
  }

  isPodTerminationRequested(uid: string): boolean {
    return this.#workers.value.isPodTerminationRequested(uid);
  }

  shouldPodContentBeRemoved(uid: string): boolean {
    return this.#workers.value.shouldPodContentBeRemoved(uid);
  }

  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return this.#workers.value.shouldPodRuntimeBeRemoved(uid);
  }

  couldHaveRunningContainers(uid: string): boolean {
    return this.#workers.value.couldHaveRunningContainers(uid);
  }

  shouldPodBeFinished(uid: string): boolean {
    return this.#workers.value.shouldPodBeFinished(uid);
  }

  async killPodNow(...kill: Parameters<PodWorkers['killPodNow']>): Promise<void> {
    await this.#workers.value.killPodNow(...kill);
  }

  isPodForMirrorPodTerminatingByFullName(fullName: string, nextUid?: string): boolean {
    return this.#workers.value.isPodForMirrorPodTerminatingByFullName(fullName, nextUid);
  }
}
