import type {
  PodLifecycleEvent,
  PodSyncResult,
  PodUpdate,
  PodWorkerSync,
  ProbeUpdate,
  UpdatePodOptions,
} from '@node-agent/contracts';
import type { Pod, PodSource, PodStatus, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';

/** Pod sources. Implemented by package `pod-config`. */
export interface PodConfigPort {
  readonly updates: AsyncIterable<PodUpdate>;
  /** Returns whether every configured source has reported at least once (F1). */
  seenAllSources(): boolean;
  /** Returns whether this source has reported at least once. */
  sourceReady(source: PodSource): boolean;
  /**
   * Resolves as soon as {@link seenAllSources} returns true.
   * @throws the signal's reason
   */
  allSourcesSeen(signal: AbortSignal): Promise<void>;
}

/** Pods that this node should run. Implemented by package `pod-manager`. */
export interface PodManagerPort {
  addPod(pod: Pod): void;
  updatePod(pod: Pod): void;
  removePod(pod: Pod): void;
  /** Returns all pods except mirror pods. */
  getPods(): readonly Pod[];
  getPodByUid(uid: string): Pod | undefined;
  getPodByName(namespace: string, name: string): Pod | undefined;
  /** Returns the UID of the static pod for the UID of its mirror pod; any other UID unchanged. */
  translatePodUid(uid: string): string;
  /** Returns the pod itself (for a mirror pod, its static pod) and its mirror pod. */
  getPodAndMirrorPod(pod: Pod): {
    readonly pod: Pod | undefined;
    readonly mirrorPod: Pod | undefined;
    readonly wasMirror: boolean;
  };
  getPodsAndMirrorPods(): {
    readonly mirrorPods: readonly Pod[];
    readonly orphanedMirrorPodFullNames: readonly string[];
  };
}

/** Mirror pods in the API, if there is an API server. Implemented by package `pod-manager`. */
export interface MirrorPodsPort {
  /** Checks the mirror pod of this `name_namespace`, after a change of the static pod or the mirror pod. */
  reconcile(fullName: string): void;
}

/** Pod workers: one state machine per pod UID. Implemented by package `pod-workers`. */
export interface PodWorkersPort {
  start(signal: AbortSignal): Promise<void>;
  updatePod(options: UpdatePodOptions): void;
  /**
   * Forgets finished pods and returns the state of the others. Pods without a worker may be cleaned up only after this
   * call (P5).
   */
  syncKnownPods(desiredPods: readonly Pod[]): ReadonlyMap<string, PodWorkerSync>;
  /**
   * Forgets the finished pods among `wantedPods`.
   * @returns the UIDs of the forgotten pods
   */
  forgetReused(wantedPods: readonly Pod[]): readonly string[];
  isPodKnownTerminated(uid: string): boolean;
  isPodTerminationRequested(uid: string): boolean;
  couldHaveRunningContainers(uid: string): boolean;
  shouldPodContentBeRemoved(uid: string): boolean;
  shouldPodRuntimeBeRemoved(uid: string): boolean;
  /** Explains what the pod waits for, since when, and what happened before; `undefined` if the pod has no worker. */
  explain(uid: string): PodWorkerView | undefined;
}

/** The part of a pod worker's explanation that this package interprets. The complete explanation is shown to users. */
export interface PodWorkerView {
  readonly activity: {
    readonly kind: string;
    /**
     * Start of the activity by the wall clock. `untilMs` uses the same clock and is the time of the next attempt or
     * sync.
     */
    readonly sinceMs?: number;
    readonly untilMs?: number;
    /** Error of the last attempt; set only if the activity is `backingOff`. */
    readonly error?: string;
    /** UID of the pod that holds the full name; set only if the activity is `waitingForFullName`. */
    readonly holderUid?: string | undefined;
  };
}

/** The Pod Lifecycle Event Generator. Implemented by package `pleg`. */
export interface PlegPort {
  start(signal: AbortSignal): Promise<void>;
  readonly events: AsyncIterable<PodLifecycleEvent>;
  /** Requests an immediate inspection of this pod. */
  hint(uid: string): void;
  /** Returns the problem of the Pod Lifecycle Event Generator; `undefined` if there is none. */
  healthy(): string | undefined;
}

/** Latest known runtime status of each pod. Implemented by package `pleg`. */
export interface PodCachePort {
  get(uid: string): { readonly status: RuntimePodStatus; readonly error?: Error } | undefined;
  /**
   * Returns whether the runtime was queried for the pod. If so, and {@link get} returns `undefined`, the runtime does
   * not have the pod.
   */
  hasSeen(uid: string): boolean;
  /**
   * Returns the UIDs of the pods of this name with a running container or sandbox; `undefined` before the runtime's
   * pods were first listed.
   */
  runningPods(name: string, namespace: string): readonly string[] | undefined;
  /**
   * Returns a status that was read after `minTimeMs` (monotonic clock); waits for it if necessary. Rejects with the
   * error of the read.
   */
  getNewerThan(uid: string, minTimeMs: number, signal: AbortSignal): Promise<RuntimePodStatus>;
}

/** One condition of the runtime. */
export interface RuntimeCondition {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Conditions that the runtime reports about itself. */
export interface RuntimeReadiness {
  readonly runtimeReady: RuntimeCondition;
  readonly networkReady: RuntimeCondition;
}

/** Makes the container runtime match a pod's spec. Implemented by package `runtime`. */
export interface RuntimePort {
  /** Returns the pods that have any container or sandbox in the runtime. */
  getPods(signal?: AbortSignal): Promise<readonly RuntimePod[]>;
  /** Returns one pod as {@link getPods} does. If this method is absent, all pods are listed. */
  getPod?(uid: string, signal?: AbortSignal): Promise<RuntimePod | undefined>;
  getPodStatus(uid: string, name: string, namespace: string, signal?: AbortSignal): Promise<RuntimePodStatus>;
  syncPod(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<PodSyncResult>;
  /** Runs the pending `postStart` hooks of running containers. If this method is absent, only a sync runs them. */
  finishStarts?(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<void>;
  killPod(
    pod: Pod | undefined,
    runningPod: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /** Notes that a container has terminated, so that its `preStop` hook is no longer waited for. */
  containerEnded(podUid: string, containerId: string): void;
  status(signal?: AbortSignal): Promise<RuntimeReadiness>;
  /** Forgets the state of a pod that is gone, including its back-off. */
  forget(uid: string): void;
}

/** Latest status of each pod. Implemented by package `status`. */
export interface StatusPort {
  getPodStatus(uid: string): PodStatus | undefined;
  /**
   * Returns the latest status. Before the first status was set, returns the status in the API, which for a static pod
   * is that of its mirror pod (S6).
   */
  knownStatus(pod: Pod): PodStatus | undefined;
  setPodStatus(pod: Pod, status: PodStatus): void;
  terminatePod(pod: Pod, before?: PodStatus): void;
  /**
   * Sets whether a container (by its runtime ID) is ready, as its probe found. The status and its conditions change
   * immediately.
   */
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void;
  /**
   * Sets whether a container (by its runtime ID) has started, as its startup probe found. The status changes
   * immediately.
   */
  setContainerStartup(uid: string, containerId: string, started: boolean): void;
  /**
   * Returns whether the Ready condition in the API differs from the one that follows from the other fields in the API,
   * because another component changed a readiness gate.
   */
  isReadinessStale(pod: Pod): boolean;
  removeOrphanedStatuses(knownUids: ReadonlySet<string>): void;
  /**
   * Prepares for a new pod instance with the same UID: the status of the first instance must not be attributed to the
   * second (P3).
   */
  resetForNewInstance(uid: string): void;
}

/**
 * Generates a pod's status from the runtime status. Implemented by package `status`, with the node's own facts bound to
 * it.
 */
export type GeneratePodStatus = (
  pod: Pod,
  runtimeStatus: RuntimePodStatus,
  context: {
    readonly oldStatus: PodStatus | undefined;
    /** Whether all containers have stopped and none can start again. */
    readonly podIsTerminal: boolean;
    /** Decision of the kubelet that fails the pod: the phase is Failed, with this reason and message. */
    readonly failure: PodFailure | undefined;
  },
) => PodStatus;

export interface PodFailure {
  readonly reason: string;
  readonly message: string;
}

/** An unfinished operation of a pod's volume. */
export interface VolumeWaitView {
  /** Name of the volume in the pod. */
  readonly volume: string;
  readonly what: string;
  /** Milliseconds since the Unix epoch; absent if unknown. */
  readonly sinceMs?: number;
}

/** Volumes of pods. Implemented by package `volumes`. */
export interface VolumesPort {
  start(signal: AbortSignal): Promise<void>;
  makePodDataDirs(uid: string): Promise<void>;
  /**
   * Rejects if a volume is missing. The error has `isReported` if the events of the volumes already contain all
   * details. The error has the code `AttachLimitExceeded` if the pod must be rejected because no more volumes can be
   * attached to the node. If the error has an `explanation`, explanations of the pod contain that text instead of the
   * error's message.
   */
  waitForAttachAndMount(pod: Pod, signal: AbortSignal): Promise<void>;
  waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void>;
  podVolumesExist(uid: string): Promise<boolean>;
  /** Returns the unfinished operations of a pod's volumes, for explanations. */
  volumeWaits?(uid: string): readonly VolumeWaitView[];
  /** Removes the directories of pods that are unknown and have no containers. */
  cleanupOrphanedPodDirs(isKnown: (uid: string) => boolean, signal: AbortSignal): Promise<void>;
}

/** Cgroups of pods. Implemented by package `cm-cgroups`. Operations on one pod's cgroup are serialized. */
export interface PodCgroupsPort {
  exists(pod: Pod, signal: AbortSignal): Promise<boolean>;
  /**
   * Returns whether the pod's cgroup exists as `ensure` left it. If absent, `exists` and `ensure` are called each time.
   */
  isEnsured?(pod: Pod, signal: AbortSignal): Promise<boolean>;
  /**
   * Creates the pod's cgroup with its limits.
   * @returns whether anything had to be changed
   */
  ensure(pod: Pod, signal: AbortSignal): Promise<boolean>;
  /** Kills the remaining processes in the cgroup and removes the cgroup. Resolves when the cgroup does not exist. */
  destroy(uid: string, signal: AbortSignal): Promise<void>;
  /** Reduces the CPU share of a cgroup that cannot be removed yet to the minimum. */
  reduceCpu(uid: string, signal: AbortSignal): Promise<void>;
  /** Returns the UIDs of all pods that have a cgroup, including those created by an earlier process. */
  pods(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Updates the cgroups of the QoS classes to the total requests of their pods. */
  updateQos(active: readonly Pod[], signal: AbortSignal): Promise<void>;
  /** Reads the limits of the pod's cgroup for the pod's status, if they are not known since they were last set. */
  limits?(pod: Pod, signal: AbortSignal): Promise<unknown>;
}

/** Host ID ranges of pods with user namespaces. Implemented by package `userns`. */
export interface UserNamespacesPort {
  /** Releases the IDs of a pod that is gone. Never rejects. */
  release(uid: string): Promise<void>;
  /** Releases the IDs of pods that are no longer known. */
  releaseOrphans(isKnown: (uid: string) => boolean): Promise<void>;
}

/** ResourceClaims of pods. Implemented by package `dra`. */
export interface PodClaimsPort {
  /**
   * Unprepares the claims of a pod whose containers have all stopped. Returns synchronously if the pod has no claims.
   * @throws if a driver could not unprepare a claim; the pod stays terminating, and the call is repeated
   */
  unprepare(pod: Pod, signal: AbortSignal): Promise<void> | undefined;
}

/** Garbage collection of dead containers and sandboxes. Implemented by package `container-gc`. */
export interface ContainerGcPort {
  garbageCollect(
    options: { readonly allSourcesReady: boolean; readonly evictNonDeletedPods: boolean },
    signal: AbortSignal,
  ): Promise<unknown>;
  /** Removes the dead containers of a pod that need not be kept; all of them if `removeAll`. */
  deleteContainersInPod(status: RuntimePodStatus, exitedContainerId: string, removeAll: boolean): void;
}

/** Garbage collection of unused images. Implemented by package `image-gc`. */
export interface ImageGcPort {
  /**
   * Removes images that are too old, and as many as a full disk requires. Rejects if fewer images could be removed than
   * required.
   */
  garbageCollect(signal: AbortSignal): Promise<void>;
}

/**
 * Eviction of pods when the node runs short of a resource. Implemented by package `eviction`, which also runs as a
 * service and as an admit handler.
 */
export interface EvictionPort {
  /** Explains the observed resources and the actions taken. */
  explain(): unknown;
  /** Returns the actions that concerned a pod. */
  explainPod(uid: string): readonly unknown[];
}

/**
 * Probes of containers. Implemented by package `prober`, which reads pod statuses itself and also runs as a service.
 */
export interface ProbesPort {
  /** Changed probe results, for one consumer. */
  readonly updates: AsyncIterable<ProbeUpdate>;
  /** Starts probing a pod. Called at every sync; does nothing for a pod that is already probed. */
  addPod(pod: Pod): void;
  /** Stops liveness and startup probes of a terminating pod; readiness probes continue. */
  stopLivenessAndStartup(uid: string): void;
  removePod(uid: string): void;
  /** Removes the probes and results of all pods except those in `desired`. */
  cleanupPods(desired: ReadonlySet<string>): void;
  /** Returns the current result, the waits and the latest results of each probe. */
  explain(uid: string): readonly unknown[];
}

/** A service that only has to be started and stopped with the kubelet. */
export interface BackgroundService {
  readonly name: string;
  start(signal: AbortSignal): Promise<void>;
}
