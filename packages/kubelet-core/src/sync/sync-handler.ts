import type { PodUpdateType } from '@node-agent/contracts';
import {
  isStaticPod,
  isTerminalPhase,
  mayRun,
  type Pod,
  podFullName,
  podReference,
  podSource,
  type RuntimePod,
} from '@node-agent/pod-spec';
import { Admissions } from '../admit/admissions.ts';
import type { Refusal } from '../admit/admit-handler.ts';
import type { AllocationPort } from '../admit/allocation.ts';
import { rejectedStatus } from '../admit/rejected-status.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PodJournal } from '../explain/pod-journal.ts';
import { pastActiveDeadline } from '../pods/active-deadline.ts';
import { isActive, type PodHolding, staysInactive } from '../pods/active-pod.ts';
import type { PodWorkersPort } from '../ports.ts';
import { EarlyEnds } from './early-ends.ts';
import { planHousekeeping } from './housekeeping.ts';
import { HousekeepingMetrics } from './housekeeping-metrics.ts';
import { oldestFirst } from './oldest-first.ts';
import { cleanUpOrphans } from './orphans.ts';
import type { PodGroups } from './pod-groups.ts';

/** Orphans get this long to end; see {@link SyncHandler.handlePodCleanups}. */
const ORPHAN_GRACE_PERIOD_SECONDS = 1;

type Components = Pick<
  Dependencies,
  | 'clock'
  | 'logger'
  | 'metrics'
  | 'recorder'
  | 'podConfig'
  | 'podManager'
  | 'status'
  | 'runtime'
  | 'volumes'
  | 'containerGc'
  | 'podCache'
  | 'admitHandlers'
  | 'statusSeen'
  | 'startup'
  | 'mirrorPods'
  | 'probes'
  | 'userNamespaces'
> & {
  readonly allocation: AllocationPort;
  readonly journal: Pick<PodJournal, keyof PodJournal>;
  readonly workers: PodWorkersPort;
  readonly groups: Pick<PodGroups, 'removeOrphans'>;
};

/**
 * What the sync loop does with what its sources bring (`SyncHandler` in `pkg/kubelet/kubelet.go`). Never called twice
 * at the same time: the loop sees to it.
 */
export class SyncHandler {
  readonly #deps: Components;
  readonly #metrics: HousekeepingMetrics;
  readonly #admissions: Admissions;
  /** The pods of which something may be remembered: those that were there at the last housekeeping, and all since (K4). */
  readonly #remembered = new Set<string>();
  /** Pods that have come to their end here and are forgotten, for as long as the cache of the runtime's pods may say that they run. */
  readonly #outlived = new Set<string>();
  /**
   * The pods that may hold resources of the node. Each admission looks at all of them: of thousands of pods that have ended, or were refused, none
   * is looked at again.
   */
  readonly #mayBeActive = new Set<string>();
  /** Who is ended before all sources are ready. */
  readonly early: EarlyEnds;

  constructor(components: Components) {
    this.#deps = components;
    this.#metrics = new HousekeepingMetrics(components.metrics);
    this.early = new EarlyEnds({ ...components, killOrphan: (pod) => this.#killOrphan(pod) });
    this.#admissions = new Admissions({
      handlers: components.admitHandlers,
      journal: components.journal,
      activePods: () => this.activePods(),
      onAdmitted: (pod) => this.#admitted(pod),
      onRefused: (pod, refusal) => this.#reject(pod, refusal),
    });
  }

  /** The order in which {@link handlePodAdditions} takes new pods: those that run already come first, then the oldest. */
  inAdmissionOrder(pods: readonly Pod[]): readonly Pod[] {
    const oldest = oldestFirst(pods);
    const fromBefore = new Set(oldest.filter((pod) => this.#runsAlready(pod)));
    return [...fromBefore, ...oldest.filter((pod) => !fromBefore.has(pod))];
  }

  /**
   * New pods, oldest first: those that may not run here are rejected, the others get a worker, at once or when it is decided.
   * Pods that run already, from before a restart of the kubelet, come before all others and are not asked for again (N1). Nor is one asked
   * for that is to end: upstream asks, ends others for a critical one, and rejects one whose containers had all done their work.
   */
  handlePodAdditions(pods: readonly Pod[], signal: AbortSignal): void {
    const { podManager, workers, allocation, journal } = this.#deps;
    const running: Pod[] = [];
    const fromBefore = new Set(pods.filter((pod) => this.#runsAlready(pod)));
    for (const added of this.inAdmissionOrder(pods)) {
      podManager.addPod(added);
      this.#mayBeActive.add(added.metadata.uid);
      this.#deps.startup?.observed(added);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(added);
      if (pod === undefined) continue;
      if (wasMirror) {
        this.#update('update', pod, mirrorPod);
        this.#seen(pod);
        continue;
      }
      const { uid } = pod.metadata;
      if (this.#outlived.has(uid) && !this.#hasWorker(uid)) this.#deps.status.beginAnew(uid);
      this.#remembered.add(uid);
      journal.known(uid);
      const maybeNew = !fromBefore.has(added) && !workers.isPodTerminationRequested(uid);
      const isToEnd = isTerminalPhase(pod.status?.phase) || (maybeNew && pod.metadata.deletionTimestamp !== undefined);
      if (maybeNew && !isToEnd) {
        // What an earlier process granted it counts, whatever it asks for by now.
        this.#admissions.ask(allocation.allocated(pod), signal);
        continue;
      }
      if (!isToEnd) {
        if (!allocation.hasGrant(uid)) allocation.grant(pod);
        running.push(pod);
      }
      this.#update('create', pod, mirrorPod);
      this.#seen(pod);
    }
    this.early.endReplaced();
    this.#syncAll(allocation.added(running));
  }

  /** Pods whose wish changed, deleted ones too: their worker is told. */
  handlePodUpdates(pods: readonly Pod[]): void {
    const { podManager, allocation } = this.#deps;
    for (const updated of pods) {
      const before = podManager.getPodByUid(updated.metadata.uid);
      podManager.updatePod(updated);
      this.#mayBeActive.add(updated.metadata.uid);
      this.#deps.startup?.observed(updated);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(updated);
      if (pod === undefined) continue;
      // It is told at once whether it gets what it asks for; who is not admitted yet is looked at then.
      const isDecided = !wasMirror && !this.#admissions.isUndecided(pod.metadata.uid);
      if (isDecided) this.#syncAll(allocation.updated(before, pod));
      if (before !== undefined) this.#warnOf(before, pod);
      // Whoever is to end needs no admission: its worker ends what there is of it.
      if (pod.metadata.deletionTimestamp !== undefined) this.#admissions.withdraw(pod.metadata.uid);
      this.#update('update', pod, mirrorPod);
      this.#seen(pod);
    }
  }

  /** What a change asks for that is not to be had here is told, and holds nothing up. */
  #warnOf(before: Pod, pod: Pod): void {
    for (const handler of this.#deps.admitHandlers) {
      const warning = handler.updated?.(before, pod);
      if (warning === undefined) continue;
      this.#deps.recorder.event(podReference(pod), 'Warning', warning.reason, warning.message);
    }
  }

  /** Pods that their source no longer has: they are killed, where that is safe to say (F1). */
  handlePodRemoves(pods: readonly Pod[]): void {
    const { podManager, podConfig, workers, logger } = this.#deps;
    for (const removed of pods) {
      podManager.removePod(removed);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(removed);
      if (wasMirror) {
        if (pod === undefined) continue;
        this.#update('update', pod, mirrorPod);
        this.#seen(pod);
        continue;
      }
      this.#admissions.withdraw(removed.metadata.uid);
      if (podConfig.seenAllSources()) workers.updatePod({ updateType: 'kill', pod: removed });
      else if (!this.early.removed(removed)) {
        logger.info({ podUid: removed.metadata.uid }, 'Pod removal waits until all sources are ready');
      }
    }
    this.retryResizes('pods_removed');
  }

  /** Something may have made room for resizes that wait. */
  retryResizes(trigger: 'pods_added' | 'pods_removed' | 'pod_terminated'): void {
    this.#syncAll(this.#deps.allocation.retry(trigger));
  }

  /** Resizes that have waited for long are tried again, though nothing that is known has made room. */
  retryOverdueResizes(): void {
    this.#syncAll(this.#deps.allocation.retryOverdue());
  }

  /**
   * Pods of which the API shows another status, mostly one that was just written there: only a readiness gate that has
   * changed, which others set, is something for the pod's worker, and that the pod has ended where the worker does not
   * know: somebody else said so, or a kubelet before this one (S1). Upstream's finds that out with the pod's next sync.
   */
  handlePodReconcile(pods: readonly Pod[]): void {
    const { podManager, podCache, containerGc, allocation, status, workers } = this.#deps;
    for (const changed of pods) {
      const before = podManager.getPodByUid(changed.metadata.uid);
      podManager.updatePod(changed);
      this.#mayBeActive.add(changed.metadata.uid);
      this.#deps.startup?.observed(changed);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(changed);
      if (pod === undefined) continue;
      if (!wasMirror) this.#syncAll(allocation.reconciled(before, pod));
      const { uid } = pod.metadata;
      const isAlive = this.#hasWorker(uid) && !workers.isPodTerminationRequested(uid);
      const hasEnded = isAlive && isTerminalPhase(pod.status?.phase);
      if (hasEnded || status.isReadinessStale(pod)) this.#update('sync', pod, mirrorPod);
      this.#seen(pod);
      if (pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted') {
        const entry = podCache.get(uid);
        if (entry !== undefined) containerGc.deleteContainersInPod(entry.status, '', true);
      }
    }
  }

  /** Pods that are to be looked at again though their wish did not change. */
  handlePodSyncs(pods: readonly Pod[]): void {
    for (const one of pods) {
      const { pod, mirrorPod, wasMirror } = this.#deps.podManager.getPodAndMirrorPod(one);
      if (pod !== undefined && !wasMirror) this.#update('sync', pod, mirrorPod);
    }
  }

  /** Pods that are past their active deadline, and are not told so yet. */
  podsPastDeadline(): readonly Pod[] {
    const { podManager, status, clock, workers } = this.#deps;
    return podManager.getPods().filter((pod) => {
      // Almost no pod has a deadline: this runs every second, and must cost nothing for the others.
      if (pod.spec.activeDeadlineSeconds === undefined) return false;
      const { uid } = pod.metadata;
      if (this.#admissions.isUndecided(uid) || workers.isPodTerminationRequested(uid)) return false;
      return pastActiveDeadline(pod, status.getPodStatus(uid), clock.now());
    });
  }

  /**
   * Makes the pod workers, the statuses, the runtime and the disk agree with the pods that are wanted. Only to be
   * called once all sources are ready (F1), as what is not known is taken away here.
   * @param listed the runtime's pods; the list may be older than what the workers have done since
   */
  async handlePodCleanups(listed: readonly RuntimePod[], signal: AbortSignal): Promise<void> {
    const { podManager, podCache, workers, status } = this.#deps;
    const pods = podManager.getPods();
    for (const { metadata } of pods) this.#mayBeActive.add(metadata.uid);
    // Only here are finished workers forgotten, so that every pod that was wanted since the list was made still has one:
    // what has none is an orphan (P6), and what was stopped meanwhile is known to be.
    const runningPods = listed.filter((pod) => mayRun(pod) && !workers.isPodKnownTerminated(pod.uid));
    const { mirrorPods, orphanedMirrorPodFullNames } = podManager.getPodsAndMirrorPods();
    const working = workers.syncKnownPods(pods);
    // All that is not wanted is being ended now. Who has finished is forgotten, and must not be ended once more (P1).
    this.early.clear();
    const uids = [...pods, ...mirrorPods].map((pod) => pod.metadata.uid);
    const mayStillRun = [...working].filter(([, { state }]) => state !== 'terminated').map(([uid]) => uid);
    // A pod that left the configuration is probed and shown by its status until its containers have stopped. Upstream drops the status at once.
    const shown = [...uids, ...mayStillRun];
    status.removeOrphanedStatuses(new Set(shown));

    const plan = planHousekeeping({ pods, workers: working, runningPods, isActive: (pod) => this.#isActive(pod) });
    const present = new Set([...uids, ...working.keys(), ...runningPods.map((pod) => pod.uid)]);
    for (const uid of this.#remembered) {
      if (present.has(uid)) continue;
      this.#forget(uid);
      this.#remembered.delete(uid);
      this.#outlived.add(uid);
    }
    for (const uid of present) this.#remembered.add(uid);
    for (const uid of this.#outlived) {
      if (podCache.get(uid) === undefined && podCache.hasSeen(uid)) this.#outlived.delete(uid);
    }
    this.#deps.allocation.retain(present);
    this.#deps.probes?.cleanupPods(new Set(mayStillRun));

    // Known is what there was at the last housekeeping, and what came since.
    const isKnown = (uid: string): boolean => this.#remembered.has(uid) || podManager.getPodByUid(uid) !== undefined;
    cleanUpOrphans(this.#deps, isKnown, signal);
    this.#beginAgain(plan.restart, shown, signal);
    for (const pod of plan.finish) {
      this.#mayBeActive.add(pod.metadata.uid);
      workers.updatePod({ updateType: 'kill', pod });
    }
    for (const runningPod of plan.killOrphans) this.#killOrphan(runningPod);
    for (const fullName of orphanedMirrorPodFullNames) this.#deps.mirrorPods?.look(fullName);
    this.#metrics.record(pods, this.activePods(), mirrorPods);
  }

  /**
   * Before all sources are ready: a manifest's pod that has come to its end, and is wanted again, begins anew (P3), one of which the runtime
   * alone knew then, too. It waits for nobody, as it may be what the others wait for: the API server, whose manifest was changed and changed
   * back (F4).
   */
  beginReused(signal: AbortSignal): void {
    const { podManager, podConfig, workers } = this.#deps;
    const { mirrorPods } = podManager.getPodsAndMirrorPods();
    const pods = podManager.getPods();
    const wanted = pods.filter((pod) => isStaticPod(pod) && podConfig.sourceReady(podSource(pod)));
    const reused = new Set(workers.forgetReused(wanted));
    const again = wanted.filter((pod) => {
      const { uid } = pod.metadata;
      return reused.has(uid) || (!this.#hasWorker(uid) && this.#isActive(pod));
    });
    const known = [...this.#remembered, ...[...pods, ...mirrorPods].map(({ metadata }) => metadata.uid)];
    this.#beginAgain(again, known, signal);
  }

  /**
   * A UID that is used again is another pod: nothing of its first life is said of the second (P3, S5). What that was admitted with is gone,
   * its devices too, so that it is asked for anew (N1, N8); upstream starts it without asking.
   * @param known the UIDs whose statuses stay, these or not
   */
  #beginAgain(pods: readonly Pod[], known: readonly string[], signal: AbortSignal): void {
    if (pods.length === 0) return;
    const { status, allocation, journal } = this.#deps;
    const again = new Set(pods.map(({ metadata }) => metadata.uid));
    status.removeOrphanedStatuses(new Set(known.filter((uid) => !again.has(uid))));
    for (const uid of again) {
      this.#mayBeActive.add(uid);
      status.beginAnew(uid);
      allocation.forget(uid);
      this.#forget(uid);
      journal.known(uid);
    }
    this.#admissions.askAll(pods, signal);
  }

  /** What the pod's first life has left. */
  #forget(uid: string): void {
    this.#deps.runtime.forget(uid);
    this.#deps.startup?.forget(uid);
    this.#deps.journal.forget(uid);
  }

  /** The pods that hold resources of the node, with what they were granted: admitted, not terminal, not finished (N1). */
  activePods(): readonly Pod[] {
    const { podManager, allocation } = this.#deps;
    const active: Pod[] = [];
    for (const uid of this.#mayBeActive) {
      const pod = podManager.getPodByUid(uid);
      const holding = pod && this.#holding(pod);
      if (pod === undefined || holding === undefined) this.#mayBeActive.delete(uid);
      else if (isActive(pod, holding)) active.push(allocation.allocated(pod));
      else if (staysInactive(pod, holding)) this.#mayBeActive.delete(uid);
    }
    return active;
  }

  /** The pods about whose admission nothing is decided, the oldest first. */
  applicants(): readonly Pod[] {
    return this.#admissions.applicants();
  }

  #killOrphan(runningPod: RuntimePod): void {
    const { workers, logger, clock } = this.#deps;
    logger.info({ podUid: runningPod.uid, pod: runningPod.name }, 'Clean up containers for orphaned pod');
    this.#remembered.add(runningPod.uid);
    workers.updatePod({
      updateType: 'kill',
      runningPod,
      startTimeMs: clock.monotonic(),
      killPodOptions: { gracePeriodSecondsOverride: ORPHAN_GRACE_PERIOD_SECONDS },
    });
  }

  /**
   * The sync loop begins when the runtime's pods have been listed: what was started before this kubelet is among them. A static pod has kept
   * its place only where it is among the first of its source: one that comes later was not wanted in between, while an API server's first list
   * may be an old one. What this kubelet has ended itself may still be listed, until its cache has heard of that. Each of those is another pod
   * when it comes again (N1, N9).
   */
  #runsAlready(pod: Pod): boolean {
    const { uid, name, namespace } = pod.metadata;
    const { podConfig, podCache } = this.#deps;
    const wasHere = this.#remembered.has(uid) || this.#outlived.has(uid);
    const isAnother = wasHere || (isStaticPod(pod) && podConfig.sourceReady(podSource(pod)));
    if (isAnother && !this.#hasWorker(uid)) return false;
    return podCache.runningPods(name, namespace)?.includes(uid) ?? false;
  }

  #isActive(pod: Pod): boolean {
    return isActive(pod, this.#holding(pod));
  }

  #holding({ metadata: { uid } }: Pod): PodHolding {
    const { workers, status, allocation } = this.#deps;
    return {
      isFinished: workers.isPodKnownTerminated(uid),
      isUndecided: this.#admissions.isUndecided(uid),
      hasGrant: allocation.hasGrant(uid),
      isEnding: workers.isPodTerminationRequested(uid),
      phase: status.getPodStatus(uid)?.phase,
    };
  }

  /** Whether nothing is decided yet about a pod: what it waits for is its admission. */
  isUndecided(uid: string): boolean {
    return this.#admissions.isUndecided(uid);
  }

  /** The pod as it is by now: it may have changed while it was asked for. */
  #admitted(asked: Pod): void {
    const { podManager, allocation } = this.#deps;
    const { pod = asked, mirrorPod } = podManager.getPodAndMirrorPod(
      podManager.getPodByUid(asked.metadata.uid) ?? asked,
    );
    allocation.grant(asked);
    this.#mayBeActive.add(asked.metadata.uid);
    this.#update('create', pod, mirrorPod);
    this.#seen(pod);
    this.#syncAll(allocation.added([pod]));
  }

  #syncAll(uids: readonly string[]): void {
    this.handlePodSyncs(uids.flatMap((uid) => this.#deps.podManager.getPodByUid(uid) ?? []));
  }

  #hasWorker(uid: string): boolean {
    return this.#deps.workers.explain(uid) !== undefined;
  }

  /**
   * Tells the pod's worker, where it may have one. Who has none was not let in, or has just come to an end that the runtime alone knew of:
   * no change and no event of its containers lets it in (N1, N9), for which housekeeping asks, and which upstream's do. Who is deleted is ended.
   */
  #update(updateType: PodUpdateType, pod: Pod, mirrorPod: Pod | undefined): void {
    const { uid, deletionTimestamp } = pod.metadata;
    if (this.#admissions.isUndecided(uid)) return;
    const isLetIn = updateType === 'create' || this.#hasWorker(uid);
    if (!isLetIn && deletionTimestamp === undefined) return;
    this.#remembered.add(uid);
    this.#deps.workers.updatePod({
      updateType,
      pod,
      ...(mirrorPod && { mirrorPod }),
      startTimeMs: this.#deps.clock.monotonic(),
    });
  }

  /** What the API server shows of a pod may have changed: its status is compared, and its mirror pod, where it is static. */
  #seen(pod: Pod): void {
    this.#deps.statusSeen?.(pod.metadata.uid);
    if (isStaticPod(pod)) this.#deps.mirrorPods?.look(podFullName(pod));
  }

  #reject(pod: Pod, { reason, message }: Refusal): void {
    this.#deps.recorder.event(podReference(pod), 'Warning', reason, message);
    this.#metrics.rejected(reason);
    this.#deps.status.setPodStatus(pod, rejectedStatus(pod, { reason, message }));
    // What it might have taken was kept from resizes.
    this.retryResizes('pods_removed');
  }
}
