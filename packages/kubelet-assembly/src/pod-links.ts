import type { PodWorkers } from '@node-agent/pod-workers';

type Asked = Pick<
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
 * What the parts ask the pod workers, and tell them. The workers are made last, around the kubelet that they call: nothing runs
 * before, so until then no pod is known.
 */
export class PodLinks implements Asked {
  #workers: Asked | undefined;

  /** From now on `workers` answer. */
  join(workers: Asked): void {
    this.#workers = workers;
  }

  wake(uid: string): void {
    this.#workers?.wake(uid);
  }

  isPodTerminationRequested(uid: string): boolean {
    return this.#workers?.isPodTerminationRequested(uid) ?? false;
  }

  shouldPodContentBeRemoved(uid: string): boolean {
    return this.#workers?.shouldPodContentBeRemoved(uid) ?? false;
  }

  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return this.#workers?.shouldPodRuntimeBeRemoved(uid) ?? false;
  }

  couldHaveRunningContainers(uid: string): boolean {
    return this.#workers?.couldHaveRunningContainers(uid) ?? true;
  }

  shouldPodBeFinished(uid: string): boolean {
    return this.#workers?.shouldPodBeFinished(uid) ?? false;
  }

  async killPodNow(...kill: Parameters<PodWorkers['killPodNow']>): Promise<void> {
    await this.#workers?.killPodNow(...kill);
  }

  isPodForMirrorPodTerminatingByFullName(fullName: string, nextUid?: string): boolean {
    return this.#workers?.isPodForMirrorPodTerminatingByFullName(fullName, nextUid) ?? false;
  }
}
