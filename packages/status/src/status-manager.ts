import { type Clock, checkComponents } from '@node-agent/async';
import {
  type ContainerStatus,
  isStaticPod,
  isTerminalPhase,
  type Pod,
  type PodStatus,
  type RestartFeatures,
  sameJson,
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
  withTerminatedStatuses,
} from './transition.ts';
import { writeTarget } from './write-rules.ts';

/** Latest status of a pod. */
export interface VersionedStatus {
  readonly pod: Pod;
  readonly status: PodStatus;
  /**
   * Version of the status, which increases with each status change of any pod. An older version never replaces a newer
   * one (S3).
   */
  readonly version: number;
  /** Whether the pod has no containers, volumes or other resources left, so that its API object may be deleted (S5). */
  readonly finished: boolean;
}

/** Components of a {@link StatusManager}. */
export interface StatusManagerComponents {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: metrics are discarded. */
  readonly metrics?: Metrics;
  /** Called after each change; must not block. */
  readonly onChange?: (change: VersionedStatus) => void;
  /**
   * Returns the mirror pod of a static pod, which shows the static pod's status before this kubelet has set one.
   * Default: no mirror pods.
   */
  readonly getMirrorPodByPod?: (pod: Pod) => Pod | undefined;
  /** Feature gates that affect restarts. Default: all enabled. */
  readonly restartFeatures?: RestartFeatures;
}

/**
 * Keeps the latest status of each pod, as the kubelet generated it. Does no I/O: `onChange` receives each change, for
 * example to write it to the API server. Metrics:
 * `kubelet_terminated_containers_total{container_type,exit_code,reason}`.
 */
export class StatusManager {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onChange: (change: VersionedStatus) => void;
  readonly #mirrorPodOf: (pod: Pod) => Pod | undefined;
  readonly #restartFeatures: RestartFeatures | undefined;
  readonly #statuses = new Map<string, VersionedStatus>();
  /**
   * UIDs of mirror pods whose static pods have finished here. The statuses of these mirror pods belong to an earlier
   * pod instance.
   */
  readonly #finishedMirrorUids = new Set<string>();
  /** UIDs of static pods that start as a new instance and whose status has not been set since. */
  readonly #newInstanceUids = new Set<string>();
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
      help: 'Number of containers that were observed to terminate.',
      labels: ['container_type', 'exit_code', 'reason'],
    });
  }

  /** Returns the status that was set last; `undefined` if none was set. */
  getPodStatus(uid: string): PodStatus | undefined {
    return this.#statuses.get(uid)?.status;
  }

  /**
   * Returns the status that was set last, as {@link getPodStatus} does. Before the first status was set, returns the
   * status in the API, which for a static pod is that of its mirror pod (S6). For a static pod that starts as a new
   * instance, returns a status with only the current time as start time.
   */
  knownStatus(pod: Pod): PodStatus | undefined {
    const { uid } = pod.metadata;
    const begins = isStaticPod(pod) && this.#newInstanceUids.has(uid);
    const before = begins ? { startTime: apiTime(this.#clock.now()) ?? '' } : this.#mirrored(pod);
    return this.getPodStatus(uid) ?? before ?? pod.status;
  }

  /**
   * Prepares for a new pod instance with the same UID. A static pod then gets its start time when its status is first
   * requested, which may be later if it waits for its full name. The status of the first instance in the mirror pod,
   * and sandboxes that remain, are ignored (P3).
   */
  resetForNewInstance(uid: string): void {
    this.#newInstanceUids.add(uid);
  }

  /** Returns the status that was set last, with its version; `undefined` if none was set. */
  getVersionedStatus(uid: string): VersionedStatus | undefined {
    return this.#statuses.get(uid);
  }

  /** Returns the latest status of each pod. */
  getStatuses(): readonly VersionedStatus[] {
    return [...this.#statuses.values()];
  }

  /**
   * Sets a generated status. A status that cannot follow the previous one, or whose phase the API does not have, is
   * dropped and logged (S1). Exception: a terminal phase is always accepted; containers that had terminated for good
   * then keep their previous state. The phase is decided by the generator, as upstream does: a pod may go back from
   * `Running` to `Pending` if a new sandbox makes its init containers run again, but not from one terminal phase to
   * another.
   */
  setPodStatus(pod: Pod, status: PodStatus): void {
    this.#update(pod, status, this.#statuses.get(pod.metadata.uid)?.finished ?? false);
  }

  /**
   * Sets whether a container is ready, as its probe found (`SetContainerReadiness`). `containerId` is the runtime's ID
   * without a prefix; an unknown ID is ignored.
   */
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void {
    this.#setContainer(uid, containerId, { ready });
  }

  /**
   * Sets whether a container has started, as its startup probe found (`SetContainerStartup`). Takes the arguments of
   * {@link setContainerReadiness}.
   */
  setContainerStartup(uid: string, containerId: string, started: boolean): void {
    this.#setContainer(uid, containerId, { started });
  }

  /** Returns the result of {@link isReadinessStale}. */
  isReadinessStale(pod: Pod): boolean {
    return isReadinessStale(pod);
  }

  /**
   * Marks the pod as finished: nothing of it is left, and containers whose termination was not observed count as
   * failed.
   * @param before status from before the containers were stopped. Default: the current status
   */
  terminatePod(pod: Pod, before?: PodStatus): void {
    const status = this.getPodStatus(pod.metadata.uid) ?? pod.status ?? {};
    this.#update(pod, terminatedStatus(pod, status, before), true);
  }

  /**
   * Forgets the statuses of pods that no source has any more.
   * @param knownUids UIDs of the known pods, including mirror pods
   */
  removeOrphanedStatuses(knownUids: ReadonlySet<string>): void {
    for (const uid of this.#finishedMirrorUids) if (!knownUids.has(uid)) this.#finishedMirrorUids.delete(uid);
    for (const uid of this.#newInstanceUids) if (!knownUids.has(uid)) this.#newInstanceUids.delete(uid);
    for (const [uid, { pod, finished }] of this.#statuses) {
      if (knownUids.has(uid)) continue;
      this.#statuses.delete(uid);
      const mirrorUid = finished ? this.#mirrorPodOf(pod)?.metadata.uid : undefined;
      if (mirrorUid !== undefined) this.#finishedMirrorUids.add(mirrorUid);
    }
  }

  /**
   * Returns the status that the API shows for this version of a static pod; the status of an older version belongs to
   * another pod. The result has no terminal phase, no main containers that terminated for good, and no terminated init
   * containers: these may belong to an earlier instance of the static pod (stopped by a machine shutdown, or with its
   * manifest removed for a while). The runtime reports how init containers of this instance terminated. If the runtime
   * has lost the record of an init container, the generated status shows the result as unknown, as upstream does.
   */
  #mirrored(pod: Pod): PodStatus | undefined {
    const mirrorPod = this.#mirrorPodOf(pod);
    if (mirrorPod?.status === undefined || writeTarget(pod, mirrorPod) === undefined) return undefined;
    if (this.#finishedMirrorUids.has(mirrorPod.metadata.uid)) return undefined;
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
    const possible = illegal === undefined ? status : withTerminatedStatuses(pod, old, status, this.#restartFeatures);
    const next = nextStatus(pod, old, possible, this.#clock.now());
    this.#countTerminated(old, next);
    if (cached !== undefined && cached.finished === finished && sameJson(cached.status, next)) return;
    const change = { pod, status: next, version: ++this.#version, finished };
    this.#statuses.set(uid, change);
    this.#newInstanceUids.delete(uid);
    this.#logReadiness(change, old);
    this.#onChange(change);
  }

  /**
   * Logs a change of the pod's readiness, at info level, because operators search the log for readiness changes first.
   */
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

/** Returns the status without a terminal phase and its reason and message. */
function withoutEnd(status: PodStatus): PodStatus {
  if (!isTerminalPhase(status.phase)) return status;
  const { phase: _phase, reason: _reason, message: _message, ...rest } = status;
  return rest;
}
