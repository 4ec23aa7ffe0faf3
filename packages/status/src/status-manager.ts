import { isDeepStrictEqual } from 'node:util';
import { type Clock, checkComponents } from '@node-agent/async';
import {
  type ContainerStatus,
  isStaticPod,
  isTerminalPhase,
  type Pod,
  type PodStatus,
  type RestartFeatures,
} from '@node-agent/pod-spec';
import { type Counter, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { type ContainerChange, withContainerChange } from './container-change.ts';
import { isReadinessStale } from './stale-readiness.ts';
import { apiTime } from './time.ts';
import {
  hasEndedForGood,
  illegalTransition,
  nextStatus,
  phaseProblem,
  terminatedStatus,
  withFormerEnds,
} from './transition.ts';
import { writeTarget } from './write-rules.ts';

/** The newest status of a pod. */
export interface VersionedStatus {
  readonly pod: Pod;
  readonly status: PodStatus;
  /** Grows with each change, of this pod or another: an older one never replaces a newer one (S3). */
  readonly version: number;
  /** The pod has no containers, volumes or anything else left: its API object may be deleted (S5). */
  readonly finished: boolean;
}

/** What a {@link StatusManager} is made from. */
export interface StatusManagerComponents {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** Told of each change, after it is in effect; must not block. */
  readonly onChange?: (change: VersionedStatus) => void;
  /** The mirror pod of a static pod, which shows its status before it has been seen here; none where absent. */
  readonly getMirrorPodByPod?: (pod: Pod) => Pod | undefined;
  /** Which gates that bear on restarts are on; both where absent. */
  readonly restartFeatures?: RestartFeatures;
}

/**
 * The newest status of each pod, as the kubelet made it. It does no I/O: whoever is told of changes passes them on.
 * Metrics: `kubelet_terminated_containers_total{container_type,exit_code,reason}`.
 */
export class StatusManager {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onChange: (change: VersionedStatus) => void;
  readonly #mirrorPodOf: (pod: Pod) => Pod | undefined;
  readonly #restartFeatures: RestartFeatures | undefined;
  readonly #statuses = new Map<string, VersionedStatus>();
  /** The UIDs of mirror pods whose static pods have finished here: what they show is of a life that is over. */
  readonly #outlived = new Set<string>();
  /** The UIDs of static pods that begin anew, and of which nothing has been set since. */
  readonly #beginning = new Set<string>();
  readonly #terminated: Counter<'container_type' | 'exit_code' | 'reason'>;

  #version = 0;

  constructor(components: StatusManagerComponents = {}) {
    checkComponents('StatusManager', components, {});
    const {
      clock,
      logger,
      metrics,
      onChange = () => {},
      getMirrorPodByPod = () => undefined,
    } = withDefaults(components);
    this.#clock = clock;
    this.#logger = logger;
    this.#onChange = onChange;
    this.#mirrorPodOf = getMirrorPodByPod;
    this.#restartFeatures = components.restartFeatures;
    this.#terminated = metrics.counter({
      name: 'kubelet_terminated_containers_total',
      help: 'Containers that were seen to end.',
      labels: ['container_type', 'exit_code', 'reason'],
    });
  }

  /** The status that was set last; `undefined` before the first time. */
  getPodStatus(uid: string): PodStatus | undefined {
    return this.#statuses.get(uid)?.status;
  }

  /**
   * As {@link getPodStatus}; before the first time what the API shows of the pod, which for a static pod its mirror pod does (S6). Where that
   * begins anew, it does so now.
   */
  knownStatus(pod: Pod): PodStatus | undefined {
    const { uid } = pod.metadata;
    const begins = isStaticPod(pod) && this.#beginning.has(uid);
    const before = begins ? { startTime: apiTime(this.#clock.now()) ?? '' } : this.#mirrored(pod);
    return this.getPodStatus(uid) ?? before ?? pod.status;
  }

  /**
   * The UID is used again, and nothing has been set of its new life: a static pod begins when its status is asked for, which may have to wait
   * for another of its name, whatever its mirror pod, or sandboxes that are left, tell of the first life (P3).
   */
  beginAnew(uid: string): void {
    this.#beginning.add(uid);
  }

  /** As {@link getPodStatus}, with its version. */
  getVersionedStatus(uid: string): VersionedStatus | undefined {
    return this.#statuses.get(uid);
  }

  /** All pods that have a status, with it. */
  getStatuses(): readonly VersionedStatus[] {
    return [...this.#statuses.values()];
  }

  /**
   * Takes a generated status in; one that is impossible after the last one, or of a phase that the API does not have, is dropped, and the
   * log says so (S1); but how a pod has ended is told all the same, with what had ended for good as it had. Which phase a pod is in is for
   * whoever generates it to say, as upstream has it: one may go back from `Running` to `Pending`, where a new sandbox makes its init
   * containers run again, but not from a terminal phase to another.
   */
  setPodStatus(pod: Pod, status: PodStatus): void {
    this.#update(pod, status, this.#statuses.get(pod.metadata.uid)?.finished ?? false);
  }

  /** A probe says whether the container with this id (the runtime's, bare) is ready; an unknown one is let be (`SetContainerReadiness`). */
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void {
    this.#setContainer(uid, containerId, { ready });
  }

  /** As {@link setContainerReadiness}, for whether it has started (`SetContainerStartup`). */
  setContainerStartup(uid: string, containerId: string, started: boolean): void {
    this.#setContainer(uid, containerId, { started });
  }

  /** {@link isReadinessStale} */
  isReadinessStale(pod: Pod): boolean {
    return isReadinessStale(pod);
  }

  /**
   * Marks the pod as finished: all of it is gone, and what was not seen to end has failed.
   * @param before its status before its containers were ended; what stands where absent
   */
  terminatePod(pod: Pod, before?: PodStatus): void {
    const status = this.getPodStatus(pod.metadata.uid) ?? pod.status ?? {};
    this.#update(pod, terminatedStatus(pod, status, before), true);
  }

  /** Forgets pods that no source has any more. @param knownUids those of mirror pods among them */
  removeOrphanedStatuses(knownUids: ReadonlySet<string>): void {
    for (const uid of this.#outlived) if (!knownUids.has(uid)) this.#outlived.delete(uid);
    for (const uid of this.#beginning) if (!knownUids.has(uid)) this.#beginning.delete(uid);
    for (const [uid, { pod, finished }] of this.#statuses) {
      if (knownUids.has(uid)) continue;
      this.#statuses.delete(uid);
      const mirrorUid = finished ? this.#mirrorPodOf(pod)?.metadata.uid : undefined;
      if (mirrorUid !== undefined) this.#outlived.add(mirrorUid);
    }
  }

  /**
   * What the API shows of this version of a static pod; what it shows of an older one is another pod's. How its init containers
   * have ended is for the runtime to say: where that has forgotten it, upstream, which knows nothing else, says so in their message. So it is
   * with the end of all of it, and with main containers that ended for good: a static pod that was ended for a shutdown of the machine, or
   * whose manifest was away for a while, begins anew after it.
   */
  #mirrored(pod: Pod): PodStatus | undefined {
    const mirrorPod = this.#mirrorPodOf(pod);
    if (mirrorPod?.status === undefined || writeTarget(pod, mirrorPod) === undefined) return undefined;
    if (this.#outlived.has(mirrorPod.metadata.uid)) return undefined;
    const { initContainerStatuses: init, containerStatuses: main, ...status } = withoutEnd(mirrorPod.status);
    return {
      ...status,
      ...(init != null && { initContainerStatuses: init.filter(({ state }) => state?.terminated == null) }),
      ...(main != null && {
        containerStatuses: main.filter((container) => !hasEndedForGood(pod, container, this.#restartFeatures)),
      }),
    };
  }

  #setContainer(uid: string, containerId: string, change: ContainerChange): void {
    const known = this.#statuses.get(uid);
    const status = known && withContainerChange(known.pod, known.status, containerId, change);
    if (known !== undefined && status !== undefined) this.#update(known.pod, status, known.finished);
  }

  #update(pod: Pod, status: PodStatus, finished: boolean): void {
    const { uid } = pod.metadata;
    const cached = this.#statuses.get(uid);
    const old = this.knownStatus(pod);
    const illegal = illegalTransition(pod, old, status, this.#restartFeatures);
    const fault = phaseProblem(status) ?? (isTerminalPhase(status.phase) ? undefined : illegal);
    if (fault !== undefined) {
      this.#logger.error({ podUid: uid, pod: pod.metadata.name, fault }, 'Status update on pod aborted');
      return;
    }
    const possible = illegal === undefined ? status : withFormerEnds(pod, old, status, this.#restartFeatures);
    const next = nextStatus(pod, old, possible, this.#clock.now());
    this.#countTerminated(old, next);
    if (cached !== undefined && cached.finished === finished && isDeepStrictEqual(cached.status, next)) return;
    const change = { pod, status: next, version: ++this.#version, finished };
    this.#statuses.set(uid, change);
    this.#beginning.delete(uid);
    this.#logReadiness(change, old);
    this.#onChange(change);
  }

  /** When pods became ready is the first thing that is asked of a log. */
  #logReadiness({ pod, status }: VersionedStatus, old: PodStatus | undefined): void {
    const ready = isReady(status);
    if (ready === isReady(old)) return;
    const { uid, name, namespace } = pod.metadata;
    const fields = { podUid: uid, pod: `${namespace}/${name}`, phase: status.phase };
    this.#logger.info(fields, ready ? 'Pod is ready' : 'Pod is no longer ready');
  }

  #countTerminated(old: PodStatus | undefined, next: PodStatus): void {
    const groups = [
      ['init_container', old?.initContainerStatuses, next.initContainerStatuses],
      ['container', old?.containerStatuses, next.containerStatuses],
      ['ephemeral_container', old?.ephemeralContainerStatuses, next.ephemeralContainerStatuses],
    ] as const;
    for (const [type, before = [], after = []] of groups) {
      for (const status of after) {
        const terminated = status.state?.terminated;
        if (terminated == null || wasTerminated(before, status.name)) continue;
        const labels = { exit_code: String(terminated.exitCode), reason: terminated.reason ?? '' };
        this.#terminated.inc({ container_type: type, ...labels });
      }
    }
  }
}

function wasTerminated(statuses: readonly ContainerStatus[], name: string): boolean {
  return statuses.find((status) => status.name === name)?.state?.terminated != null;
}

function isReady(status: PodStatus | undefined): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

/** A status that does not say that its pod has ended, or why. */
function withoutEnd(status: PodStatus): PodStatus {
  if (!isTerminalPhase(status.phase)) return status;
  const { phase: _phase, reason: _reason, message: _message, ...rest } = status;
  return rest;
}
