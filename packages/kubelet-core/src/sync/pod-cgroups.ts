import { type Pod, podReference, type RuntimePodStatus } from '@node-agent/pod-spec';
import { errorText, eventReasons } from '@node-agent/telemetry';
import type { Dependencies } from '../dependencies.ts';
import { KubeletError } from '../errors.ts';
import { isAbsent } from '../pods/running-pod.ts';
import type { PodCgroupsPort } from '../ports.ts';

type Components = Pick<Dependencies, 'logger' | 'recorder' | 'runtime' | 'volumes' | 'cgroups'> & {
  /** Returns the pods that hold resources of the node. */
  readonly activePods: () => readonly Pod[];
};

/**
 * Returns whether no container of the pod is ever restarted. If containers run without a pod cgroup, because an earlier
 * kubelet created none, they are stopped and restarted in the cgroup. Containers of a pod that runs only once are
 * stopped and not restarted (`SyncPod` in `pkg/kubelet/kubelet.go`).
 */
export function runsOnce({ spec }: Pick<Pod, 'spec'>): boolean {
  if (spec.restartPolicy !== 'Never') return false;
  // A container with its own restart policy or rules may be restarted.
  return spec.containers.every(
    ({ restartPolicy, restartPolicyRules }) =>
      (restartPolicy === undefined || restartPolicy === 'Never') && !restartPolicyRules?.length,
  );
}

/** Creates and removes the cgroups of pods. Does nothing if this node has no pod cgroups. */
export class PodCgroups {
  readonly #deps: Components;
  /** UIDs of the pods that had a cgroup when cgroups were last listed. */
  #listed: ReadonlySet<string> = new Set();
  /** UIDs of the pods that had a cgroup when a pod without containers terminated for the first time. */
  #atStart: Promise<ReadonlySet<string>> | undefined;
  /** UIDs of pods whose cgroup this kubelet has created or used. */
  readonly #used = new Set<string>();
  /** UIDs of orphaned pods whose cgroups are being removed. */
  readonly #removing = new Set<string>();

  constructor(components: Components) {
    this.#deps = components;
  }

  /**
   * Creates the cgroup for a pod's containers.
   * @param endContainers stops the containers that run outside the cgroup
   * @returns the pod's current runtime status; read again if containers were stopped
   */
  async ensure(
    pod: Pod,
    runtimeStatus: RuntimePodStatus,
    endContainers: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<RuntimePodStatus> {
    const { cgroups, runtime, recorder, logger } = this.#deps;
    if (cgroups === undefined) return runtimeStatus;
    this.#used.add(pod.metadata.uid);
    const { uid, name, namespace } = pod.metadata;
    let status = runtimeStatus;
    try {
      if (await cgroups.isEnsured?.(pod, signal)) return status;
      const isRunning = runtimeStatus.containers.some(({ state }) => state === 'running');
      if (isRunning && !(await cgroups.exists(pod, signal))) {
        logger.info({ podUid: uid }, "Restarting the pod's containers, because they run outside its cgroup");
        await endContainers();
        status = await runtime.getPodStatus(uid, name, namespace, signal);
        if (runsOnce(pod)) return status;
      }
      if (await cgroups.ensure(pod, signal)) await this.updateQos(signal);
      return status;
    } catch (err) {
      if (signal.aborted || KubeletError.is(err)) throw err;
      const reason = errorText(err);
      const message = `unable to ensure pod container exists: ${reason}`;
      recorder.event(podReference(pod), 'Warning', eventReasons.failedToCreatePodContainer, message);
      throw new KubeletError(
        'CgroupFailed',
        `failed to ensure that the pod: ${uid} cgroups exist and are correctly applied: ${reason}`,
        { cause: err },
      );
    }
  }

  /**
   * Reads the limits of the pod's cgroup if the pod's status shows them and they are not known. If the cgroup does not
   * exist or cannot be read, the status shows the allocated resources instead.
   */
  async readLimits(pod: Pod, signal: AbortSignal): Promise<void> {
    const { cgroups, logger } = this.#deps;
    if (cgroups?.limits === undefined || pod.status?.phase !== 'Running') return;
    try {
      await cgroups.limits(pod, signal);
    } catch (err) {
      if (signal.aborted) throw err;
      logger.debug({ podUid: pod.metadata.uid, err }, "Failed to read the limits of the pod's cgroup");
    }
  }

  /**
   * Kills the remaining processes in a pod's cgroup and removes the cgroup, after the pod's volumes are gone (N5). Does
   * nothing for a pod without containers and sandboxes that had no cgroup before: a node may start with thousands of
   * finished pods, and looking for a cgroup takes some 70 system calls.
   */
  async destroy(uid: string, runtimeStatus: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    const { cgroups } = this.#deps;
    if (cgroups === undefined) return;
    const isUnused = isAbsent(runtimeStatus) && !this.#used.has(uid);
    if (isUnused && !(await this.#hadGroup(cgroups, uid, signal))) return;
    await cgroups.destroy(uid, signal);
    this.#used.delete(uid);
  }

  /** Returns whether a pod had a cgroup before this kubelet started, or may have had one. */
  async #hadGroup(cgroups: PodCgroupsPort, uid: string, signal: AbortSignal): Promise<boolean> {
    this.#atStart ??= cgroups.pods(signal);
    try {
      return (await this.#atStart).has(uid);
    } catch {
      // The removal of the cgroup reports why cgroups cannot be read. They are listed again for the next pod.
      this.#atStart = undefined;
      return true;
    }
  }

  /**
   * Lists the existing cgroups. Called before the runtime's pods are listed, so that no listed cgroup is newer than the
   * known pods.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    const { cgroups, logger } = this.#deps;
    this.#listed = new Set();
    if (cgroups === undefined) return;
    try {
      this.#listed = await cgroups.pods(signal);
    } catch (err) {
      if (signal.aborted) throw err;
      // A failed listing does not prevent pods from being started or terminated. The cgroups are listed again in the
      // next pass.
      logger.error({ err }, 'Failed to list the cgroups of pods');
    }
  }

  /**
   * Removes the cgroups of unknown pods, without blocking the caller (W6). Called only when all sources are ready (F1).
   * @param isKnown called directly before a cgroup is changed
   */
  removeOrphans(isKnown: (uid: string) => boolean, signal: AbortSignal): void {
    const { cgroups, logger } = this.#deps;
    if (cgroups === undefined) return;
    // `updateQos` logs its failures; only an abort is ignored here.
    this.updateQos(signal).catch(() => undefined);
    for (const uid of this.#listed) {
      if (isKnown(uid) || this.#removing.has(uid)) continue;
      this.#removing.add(uid);
      this.#removeOrphan(uid, isKnown, signal)
        .catch((err: unknown) => {
          // The removal of the cgroup is retried in the next housekeeping pass.
          if (!signal.aborted) logger.warn({ podUid: uid, err }, 'Failed to destroy orphaned pod cgroup');
        })
        .finally(() => this.#removing.delete(uid));
    }
  }

  /**
   * Updates the QoS cgroups to the total requests of their pods. A failure affects no pod, and the update is retried.
   */
  async updateQos(signal: AbortSignal): Promise<void> {
    const { cgroups, activePods, logger } = this.#deps;
    try {
      await cgroups?.updateQos(activePods(), signal);
    } catch (err) {
      if (signal.aborted) throw err;
      logger.warn({ err }, 'Failed to update QoS cgroups');
    }
  }

  async #removeOrphan(uid: string, isKnown: (uid: string) => boolean, signal: AbortSignal): Promise<void> {
    const { cgroups, volumes, logger } = this.#deps;
    // Memory-backed volumes are charged to the cgroup while it exists (N5).
    const volumesExist = await volumes.podVolumesExist(uid);
    if (isKnown(uid)) return;
    if (volumesExist) {
      await cgroups?.reduceCpu(uid, signal);
      return;
    }
    logger.info({ podUid: uid }, 'Orphaned pod found, removing its cgroups');
    await cgroups?.destroy(uid, signal);
  }
}
