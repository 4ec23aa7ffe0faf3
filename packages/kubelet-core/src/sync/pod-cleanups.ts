import { TimeSlice } from '@node-agent/async';
import { isStaticPod, mayRun, type Pod, podSource, type RuntimePod } from '@node-agent/pod-spec';
import type { Admissions } from '../admit/admissions.ts';
import type { AllocationPort } from '../admit/allocation.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PodJournal } from '../explain/pod-journal.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { PodWorkersPort } from '../ports.ts';
import type { EarlyTerminations } from './early-terminations.ts';
import { planHousekeeping, type UidsToKeep, uidsToKeep, uidsWithProbes } from './housekeeping.ts';
import type { HousekeepingMetrics } from './housekeeping-metrics.ts';
import { cleanUpOrphans } from './orphans.ts';
import type { PodCgroups } from './pod-cgroups.ts';
import type { UidLifetimes } from './uid-lifetimes.ts';
import type { WorkerUpdates } from './worker-updates.ts';

/** Time in ms after which the rest of a pass waits for the next turn of the event loop. */
const SLICE_MS = 5;

export interface PodCleanupsComponents
  extends Pick<
    Dependencies,
    | 'clock'
    | 'logger'
    | 'podConfig'
    | 'podManager'
    | 'status'
    | 'runtime'
    | 'volumes'
    | 'startup'
    | 'mirrorPods'
    | 'probes'
    | 'userNamespaces'
  > {
  readonly allocation: AllocationPort;
  readonly journal: Pick<PodJournal, 'known' | 'forget'>;
  readonly workers: PodWorkersPort;
  readonly podCgroups: Pick<PodCgroups, 'removeOrphans'>;
  readonly uids: UidLifetimes;
  readonly active: ActivePods;
  readonly early: Pick<EarlyTerminations, 'clear'>;
  readonly admissions: Pick<Admissions, 'admit'>;
  readonly updates: Pick<WorkerUpdates, 'killOrphan'>;
  readonly housekeepingMetrics: Pick<HousekeepingMetrics, 'record'>;
}

/**
 * Performs housekeeping passes: reconciles the pod workers, the statuses, the runtime and the disk with the desired
 * pods (`HandlePodCleanups` in `pkg/kubelet/kubelet_pods.go`). {@link planHousekeeping} decides what a pass changes;
 * the `Housekeeper` decides when a pass is due.
 */
export class PodCleanups {
  readonly #deps: PodCleanupsComponents;

  constructor(components: PodCleanupsComponents) {
    this.#deps = components;
  }

  /**
   * Performs a complete pass. Must only be called once all sources are ready (F1), because state of unknown pods is
   * removed.
   * @param listed the runtime's pods; the list may be older than the latest actions of the pod workers
   */
  async handlePodCleanups(listed: readonly RuntimePod[], signal: AbortSignal): Promise<void> {
    const { podManager, workers, uids, active, early, updates, status, probes } = this.#deps;
    // The desired pods do not change during a pass. With thousands of pods, the pass takes several turns of the event
    // loop (K5).
    const slice = new TimeSlice(this.#deps, { sliceMs: SLICE_MS });
    const pods = podManager.getPods();
    for (const pod of pods) active.consider(pod);
    await slice.pause(signal);
    const { mirrorPods, orphanedMirrorPodFullNames } = podManager.getPodsAndMirrorPods();
    // Only this method forgets finished workers, so every pod that was desired since the list was read still has a
    // worker. A listed pod without a worker is therefore an orphan (P6), and pods stopped since the list was read are
    // known to be terminated.
    const runningPods = listed.filter((pod) => mayRun(pod) && !workers.isPodKnownTerminated(pod.uid));
    const working = workers.syncKnownPods(pods);
    // The pod workers terminate all undesired pods now, and have forgotten those that are finished. A forgotten pod
    // must not be terminated again by a deferred early termination (P1).
    early.clear();
    const view = { pods, workers: working, runningPods };
    const plan = planHousekeeping({ ...view, isActive: (pod) => active.isActive(pod) });
    probes?.cleanupPods(uidsWithProbes(working));
    const toKeep = (): UidsToKeep => uidsToKeep({ ...view, mirrorPods });
    if (plan.restart.length > 0) this.#restart(plan.restart, toKeep().withStatus, signal);
    for (const pod of plan.finish) {
      active.add(pod.metadata.uid);
      workers.updatePod({ updateType: 'kill', pod });
    }
    for (const runningPod of plan.killOrphans) updates.killOrphan(runningPod);
    for (const fullName of orphanedMirrorPodFullNames) this.#deps.mirrorPods?.reconcile(fullName);
    await slice.pause(signal);

    // Pods that have got a worker in the meantime are desired.
    const keep = toKeep();
    status.removeOrphanedStatuses(keep.withStatus);
    this.#forgetAbsent(keep.present);
    await slice.pause(signal);

    // A pod is known if it was present at the last housekeeping pass or has been added since.
    const isKnown = (uid: string): boolean => uids.isTracked(uid) || podManager.getPodByUid(uid) !== undefined;
    cleanUpOrphans(this.#deps, isKnown, signal);
    this.#deps.housekeepingMetrics.record(pods, active.list(), mirrorPods);
  }

  /**
   * Restarts terminated static pods that are desired again (P3), although some sources are not ready. Also restarts
   * static pods that only the runtime knew when they terminated. A static pod must not wait for the other pod sources,
   * because a source may depend on the static pod. The pod can be the API server itself, whose manifest was changed and
   * changed back (F4).
   */
  restartReused(signal: AbortSignal): void {
    const { podManager, podConfig, workers, uids, active } = this.#deps;
    const pods = podManager.getPods();
    const { mirrorPods } = podManager.getPodsAndMirrorPods();
    const desired = pods.filter((pod) => isStaticPod(pod) && podConfig.sourceReady(podSource(pod)));
    const reused = new Set(workers.forgetReused(desired));
    const again = desired.filter((pod) => {
      const { uid } = pod.metadata;
      return reused.has(uid) || (workers.explain(uid) === undefined && active.isActive(pod));
    });
    const desiredUids = [...pods, ...mirrorPods].map(({ metadata }) => metadata.uid);
    this.#restart(again, new Set([...uids.tracked(), ...desiredUids]), signal);
  }

  /**
   * Restarts pods whose UIDs are reused. A reused UID is a new pod: no state of the first instance may be attributed to
   * the second (P3, S5). Resources admitted for the first instance, including devices, were released, so the pod is
   * admitted again (N1, N8). Upstream starts the pod without admission.
   * @param withStatus UIDs whose statuses are kept, except those of `pods`
   */
  #restart(pods: readonly Pod[], withStatus: ReadonlySet<string>, signal: AbortSignal): void {
    if (pods.length === 0) return;
    const { status, allocation, journal, active, admissions } = this.#deps;
    const again = new Set(pods.map(({ metadata }) => metadata.uid));
    status.removeOrphanedStatuses(new Set([...withStatus].filter((uid) => !again.has(uid))));
    for (const uid of again) {
      active.add(uid);
      status.resetForNewInstance(uid);
      allocation.forget(uid);
      this.#forget(uid);
      journal.known(uid);
    }
    admissions.admit(pods, signal);
  }

  /** Drops the state of pods that no source, pod worker or runtime has (K4). */
  #forgetAbsent(present: ReadonlySet<string>): void {
    for (const uid of this.#deps.uids.retain(present)) this.#forget(uid);
    this.#deps.allocation.retain(present);
  }

  /** Drops the state that components keep of the pod's first instance. */
  #forget(uid: string): void {
    this.#deps.runtime.forget(uid);
    this.#deps.startup?.forget(uid);
    this.#deps.journal.forget(uid);
  }
}
