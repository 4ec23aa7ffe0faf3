import { type Clock, LendingGate, TaskGroup } from '@node-agent/async';
import { type Pod, podReference, type RuntimePodStatus } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, eventReasons } from '@node-agent/telemetry';
import type { AllocationPort } from '../admit/allocation.ts';
import type { PodJournalPort } from '../explain/pod-journal.ts';
import type { VolumesPort } from '../ports.ts';
import type { PodCgroups } from '../sync/pod-cgroups.ts';
import { isAttachLimit } from './attach-limit.ts';

/**
 * Number of pods that are prepared concurrently. In a batch of pods, the first pods should start their containers while
 * later pods wait. Preparing all pods first would delay the containers of every pod.
 */
const PREPARED_AT_ONCE = 4;
/**
 * Time after which a preparation no longer counts towards `PREPARED_AT_ONCE`, in ms: its volume may hang or wait for a
 * secret (C7).
 */
const PREPARATION_OVERDUE_MS = 100;

interface Components {
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly allocation: Pick<AllocationPort, 'saved' | 'written'>;
  readonly journal: PodJournalPort;
  readonly podCgroups: Pick<PodCgroups, 'ensure'>;
  readonly volumes: Pick<VolumesPort, 'makePodDataDirs' | 'waitForAttachAndMount'>;
  /** Stops the pod's containers, because they run outside the pod's cgroup. */
  readonly killContainers: (pod: Pod, runtimeStatus: RuntimePodStatus, signal: AbortSignal) => Promise<void>;
}

/** Prepares what a pod needs before its sandbox is created: a saved allocation, a cgroup, volumes. */
export class PodPreparation {
  readonly #components: Components;
  readonly #preparations: LendingGate;

  constructor(components: Components) {
    this.#components = components;
    this.#preparations = new LendingGate(components, {
      concurrency: PREPARED_AT_ONCE,
      overdueMs: PREPARATION_OVERDUE_MS,
    });
  }

  /**
   * Prepares a pod for its containers. The pod's allocation must be saved before anything of the pod in the runtime
   * changes. If the runtime has no sandbox or container of the pod yet, the allocation is written while the cgroup and
   * then the volumes are prepared, and must be written before the sandbox is created. If the kubelet is killed before the
   * allocation is written, the restarted kubelet admits the pod again and reuses cgroup and volumes. The allocation is
   * saved while the sandbox starts; a power loss until then ends the sandbox, too.
   * @returns the pod's current runtime status
   */
  async prepare(pod: Pod, lastStatus: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodStatus> {
    if (lastStatus.sandboxes.length > 0 || lastStatus.containers.length > 0) {
      await this.#awaitAllocation(pod, 'saved');
      return this.#makeCgroupAndVolumes(pod, lastStatus, signal);
    }
    const parts = new TaskGroup(signal);
    parts.add(() => this.#awaitAllocation(pod, 'written'));
    parts.add(async (making) => void (await this.#makeCgroupAndVolumes(pod, lastStatus, making)));
    await parts.ended();
    signal.throwIfAborted();
    return lastStatus;
  }

  async #awaitAllocation(pod: Pod, state: 'saved' | 'written'): Promise<void> {
    try {
      await this.#components.allocation[state](pod.metadata.uid);
    } catch (err) {
      this.#warn(pod, eventReasons.failedSync, `error saving the pod's allocated resources: ${errorText(err)}`);
      throw err;
    }
  }

  async #makeCgroupAndVolumes(pod: Pod, lastStatus: RuntimePodStatus, signal: AbortSignal): Promise<RuntimePodStatus> {
    const { journal, podCgroups, killContainers } = this.#components;
    const { uid } = pod.metadata;
    const ensured = () => podCgroups.ensure(pod, lastStatus, () => killContainers(pod, lastStatus, signal), signal);
    const runtimeStatus = await journal.during(uid, 'Cgroup', {}, ensured, signal);
    // A pod that already runs has priority over pods that do not.
    const turn = runtimeStatus.sandboxes.length > 0 ? 'urgent' : 'normal';
    const mounted = () => this.#preparations.run(turn, () => this.#mountVolumes(pod, signal), signal);
    await journal.during(uid, 'Volumes', {}, mounted, signal);
    return runtimeStatus;
  }

  async #mountVolumes(pod: Pod, signal: AbortSignal): Promise<void> {
    const { volumes } = this.#components;
    try {
      await volumes.makePodDataDirs(pod.metadata.uid);
    } catch (err) {
      const message = `error making pod data directories: ${errorText(err)}`;
      this.#warn(pod, eventReasons.failedToMakePodDataDirectories, message);
      throw err;
    }
    try {
      await volumes.waitForAttachAndMount(pod, signal);
    } catch (err) {
      // No mount event is recorded in this case, because the pod is rejected and the rejection has its own event.
      if (isAttachLimit(err)) throw err;
      // The events of the volumes already contain all details of an error that has `isReported`.
      if (!signal.aborted && !(err instanceof Error && 'isReported' in err && err.isReported === true)) {
        this.#warn(pod, eventReasons.failedMountVolume, `Unable to attach or mount volumes: ${errorText(err)}`);
      }
      throw err;
    }
  }

  #warn(pod: Pod, reason: string, message: string): void {
    this.#components.recorder.event(podReference(pod), 'Warning', reason, message);
  }
}
