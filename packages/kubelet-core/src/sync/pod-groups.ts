import { type Pod, podReference, type RuntimePodStatus } from '@node-agent/pod-spec';
import { errorText, eventReasons } from '@node-agent/telemetry';
import type { Dependencies } from '../dependencies.ts';
import { KubeletError } from '../errors.ts';

type Components = Pick<Dependencies, 'logger' | 'recorder' | 'runtime' | 'volumes' | 'cgroups'> & {
  /** The pods that hold resources of the node. */
  readonly activePods: () => readonly Pod[];
};

/**
 * Whether nothing of a pod ever begins anew. Containers that run without their pod's group, from a kubelet that made none, are
 * ended and begin anew in it; those of such a pod only end (`SyncPod` in `pkg/kubelet/kubelet.go`).
 */
export function runsOnce({ spec }: Pick<Pod, 'spec'>): boolean {
  if (spec.restartPolicy !== 'Never') return false;
  // A container that is restarted by a rule or a policy of its own may begin anew.
  return spec.containers.every(
    ({ restartPolicy, restartPolicyRules }) =>
      (restartPolicy === undefined || restartPolicy === 'Never') && !restartPolicyRules?.length,
  );
}

/** When the groups of pods are made, and when they go. Does nothing where this node has none. */
export class PodGroups {
  readonly #deps: Components;
  /** The groups that were there when it was looked last. */
  #seen: ReadonlySet<string> = new Set();
  /** Orphans' groups that are being removed. */
  readonly #going = new Set<string>();

  constructor(components: Components) {
    this.#deps = components;
  }

  /**
   * Makes the group that a pod's containers are to be in.
   * @param endContainers ends the containers that run without one
   * @returns the pod's runtime status to go on with: another where containers were ended
   */
  async ensure(
    pod: Pod,
    runtimeStatus: RuntimePodStatus,
    endContainers: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<RuntimePodStatus> {
    const { cgroups, runtime, recorder, logger } = this.#deps;
    if (cgroups === undefined) return runtimeStatus;
    const { uid, name, namespace } = pod.metadata;
    let status = runtimeStatus;
    try {
      if (await cgroups.isEnsured?.(pod, signal)) return status;
      const isRunning = runtimeStatus.containers.some(({ state }) => state === 'running');
      if (isRunning && !(await cgroups.exists(pod, signal))) {
        logger.info({ podUid: uid }, "The pod's containers run without its cgroup: they begin anew in it");
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
   * Looks what the pod's group is held to, where its status tells that and it is not known. A group that is not there, or cannot be read,
   * is told as what the pod was granted.
   */
  async readLimits(pod: Pod, signal: AbortSignal): Promise<void> {
    const { cgroups, logger } = this.#deps;
    if (cgroups?.limits === undefined || pod.status?.phase !== 'Running') return;
    try {
      await cgroups.limits(pod, signal);
    } catch (err) {
      if (signal.aborted) throw err;
      logger.debug({ podUid: pod.metadata.uid, err }, "The limits of the pod's cgroup could not be read");
    }
  }

  /** Ends what is left in a pod's group, and removes it: its volumes are gone (N5). */
  async destroy(uid: string, signal: AbortSignal): Promise<void> {
    await this.#deps.cgroups?.destroy(uid, signal);
  }

  /** Looks which groups there are: before it is looked which pods there are, so that none is younger than what is known of them. */
  async look(signal: AbortSignal): Promise<void> {
    const { cgroups, logger } = this.#deps;
    this.#seen = new Set();
    if (cgroups === undefined) return;
    try {
      this.#seen = await cgroups.pods(signal);
    } catch (err) {
      if (signal.aborted) throw err;
      // Pods are started and ended all the same; it is looked again next time.
      logger.error({ err }, 'Failed to list the cgroups of pods');
    }
  }

  /**
   * Removes the groups of pods that nobody knows, beside whoever asks (W6); called only when all sources are ready (F1).
   * @param isKnown asked right before a group is touched
   */
  removeOrphans(isKnown: (uid: string) => boolean, signal: AbortSignal): void {
    const { cgroups, logger } = this.#deps;
    if (cgroups === undefined) return;
    // It tells of its failures itself; what remains is the abort.
    this.updateQos(signal).catch(() => undefined);
    for (const uid of this.#seen) {
      if (isKnown(uid) || this.#going.has(uid)) continue;
      this.#going.add(uid);
      this.#removeOrphan(uid, isKnown, signal)
        .catch((err: unknown) => {
          // It is tried again next time.
          if (!signal.aborted) logger.warn({ podUid: uid, err }, 'Failed to destroy orphaned pod cgroup');
        })
        .finally(() => this.#going.delete(uid));
    }
  }

  /** Shares follow what the pods ask for together. A failure costs no pod anything: it is tried again. */
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
    // Volumes in memory are charged to the group as long as there is one (N5).
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
