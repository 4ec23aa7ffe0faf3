import type {
  PodLifecycleEvent,
  PodSyncResult,
  PodUpdate,
  PodWorkerSync,
  ProbeUpdate,
  UpdatePodOptions,
} from '@node-agent/contracts';
import type { Pod, PodSource, PodStatus, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';

/** Where pods come from: package `pod-config`. */
export interface PodConfigPort {
  readonly updates: AsyncIterable<PodUpdate>;
  /** Whether every configured source has reported at least once (F1). */
  seenAllSources(): boolean;
  /** Whether this one has. */
  sourceReady(source: PodSource): boolean;
  /** Resolves as soon as {@link seenAllSources} holds. @throws the signal's reason */
  allSourcesSeen(signal: AbortSignal): Promise<void>;
}

/** The pods that this node should run: package `pod-manager`. */
export interface PodManagerPort {
  addPod(pod: Pod): void;
  updatePod(pod: Pod): void;
  removePod(pod: Pod): void;
  /** All pods but mirror pods. */
  getPods(): readonly Pod[];
  getPodByUid(uid: string): Pod | undefined;
  getPodByName(namespace: string, name: string): Pod | undefined;
  /** The UID of the static pod that a mirror pod's UID stands for; any other as it is. */
  translatePodUid(uid: string): string;
  /** The pod that is meant (for a mirror pod, its static pod), and its mirror pod. */
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

/** Mirror pods in the API, where there is one: package `pod-manager`. */
export interface MirrorPodsPort {
  /** Something happened to a static pod or a mirror pod of this `name_namespace`. */
  look(fullName: string): void;
}

/** One state machine per pod UID: package `pod-workers`. */
export interface PodWorkersPort {
  start(signal: AbortSignal): Promise<void>;
  updatePod(options: UpdatePodOptions): void;
  /** Forgets finished pods and says where the others stand; afterwards unknown pods may be cleaned up (P5). */
  syncKnownPods(desiredPods: readonly Pod[]): ReadonlyMap<string, PodWorkerSync>;
  /** Forgets those of these pods that are finished and are wanted again. @returns their UIDs */
  forgetReused(wantedPods: readonly Pod[]): readonly string[];
  isPodKnownTerminated(uid: string): boolean;
  isPodTerminationRequested(uid: string): boolean;
  couldHaveRunningContainers(uid: string): boolean;
  shouldPodContentBeRemoved(uid: string): boolean;
  shouldPodRuntimeBeRemoved(uid: string): boolean;
  /** What the pod waits for, since when, and what happened before; `undefined` for one that has no worker. */
  explain(uid: string): PodWorkerView | undefined;
}

/** What is shown of a pod's worker: all of it to people, this much is understood here. */
export interface PodWorkerView {
  readonly activity: {
    readonly kind: string;
    /** By the wall clock, as `untilMs`: when it is tried, or looked, again. */
    readonly sinceMs?: number;
    readonly untilMs?: number;
    /** Of `backingOff`: what the last try failed with. */
    readonly error?: string;
    /** Of `waitingForFullName`: the pod that has the name. */
    readonly holderUid?: string | undefined;
  };
}

/** The Pod Lifecycle Event Generator: package `pleg`. */
export interface PlegPort {
  start(signal: AbortSignal): Promise<void>;
  readonly events: AsyncIterable<PodLifecycleEvent>;
  /** "Look at this pod now." */
  hint(uid: string): void;
  /** What is wrong; `undefined` where nothing is. */
  healthy(): string | undefined;
}

/** The newest that is known of each pod's runtime side: package `pleg`. */
export interface PodCachePort {
  get(uid: string): { readonly status: RuntimePodStatus; readonly error?: Error } | undefined;
  /** Whether the runtime has been asked about the pod, so that it is known to be unknown where {@link get} has nothing. */
  hasSeen(uid: string): boolean;
  /** The UIDs of the pods of this name of which anything runs; `undefined` before the runtime was asked for its pods. */
  runningPods(name: string, namespace: string): readonly string[] | undefined;
  /** The status as read after `minTimeMs` (monotonic clock); waits for it where need be. Rejects with the reading's error. */
  getNewerThan(uid: string, minTimeMs: number, signal: AbortSignal): Promise<RuntimePodStatus>;
}

/** One of the runtime's conditions. */
export interface RuntimeCondition {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

/** What the runtime says of itself. */
export interface RuntimeReadiness {
  readonly runtimeReady: RuntimeCondition;
  readonly networkReady: RuntimeCondition;
}

/** Makes the container runtime agree with a pod: package `runtime`. */
export interface RuntimePort {
  /** Pods with anything left of them in the runtime. */
  getPods(signal?: AbortSignal): Promise<readonly RuntimePod[]>;
  getPodStatus(uid: string, name: string, namespace: string, signal?: AbortSignal): Promise<RuntimePodStatus>;
  syncPod(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<PodSyncResult>;
  /** Runs the `postStart` hooks that are still to succeed in containers that run; a sync does so too if absent. */
  finishStarts?(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<void>;
  killPod(
    pod: Pod | undefined,
    runningPod: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /** Takes in that a container has ended, so that no `preStop` hook of the container is waited for. */
  containerEnded(podUid: string, containerId: string): void;
  status(signal?: AbortSignal): Promise<RuntimeReadiness>;
  /** Forgets what is remembered of a pod that is gone, its back-off among it. */
  forget(uid: string): void;
}

/** The newest status of each pod: package `status`. */
export interface StatusPort {
  getPodStatus(uid: string): PodStatus | undefined;
  /** The same; before it was set for the first time what the API shows of the pod, which for a static pod its mirror pod does (S6). */
  knownStatus(pod: Pod): PodStatus | undefined;
  setPodStatus(pod: Pod, status: PodStatus): void;
  terminatePod(pod: Pod, before?: PodStatus): void;
  /** A probe says that this container (the runtime's id) is ready, or is not: the status and its conditions say so at once. */
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void;
  /** As {@link setContainerReadiness}, for whether it has started. */
  setContainerStartup(uid: string, containerId: string, started: boolean): void;
  /** Whether the API shows another condition Ready than follows from what it shows beside it: a readiness gate has changed, which others set. */
  isReadinessStale(pod: Pod): boolean;
  removeOrphanedStatuses(knownUids: ReadonlySet<string>): void;
  /** The UID is used again, and nothing has been set of its new life: nothing is known of it by what is told of the first one (P3). */
  beginAnew(uid: string): void;
}

/** Makes a pod's status from what the runtime knows: package `status`, with the node's own facts bound to it. */
export type GeneratePodStatus = (
  pod: Pod,
  runtimeStatus: RuntimePodStatus,
  context: {
    readonly oldStatus: PodStatus | undefined;
    /** All containers have stopped and none can start again. */
    readonly podIsTerminal: boolean;
    /** A decision of the kubelet that ends the pod: the phase is Failed, with this reason and message. */
    readonly failure: PodFailure | undefined;
  },
) => PodStatus;

export interface PodFailure {
  readonly reason: string;
  readonly message: string;
}

/** Volumes of pods: package `volumes`. */
export interface VolumesPort {
  start(signal: AbortSignal): Promise<void>;
  makePodDataDirs(uid: string): Promise<void>;
  /** Rejects where a volume is missing; with an error that has `isTold`, where the events of its volumes say all of it. */
  waitForAttachAndMount(pod: Pod, signal: AbortSignal): Promise<void>;
  waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void>;
  podVolumesExist(uid: string): Promise<boolean>;
  /** Removes what is left on disk of pods that are not known and have no containers. */
  cleanupOrphanedPodDirs(isKnown: (uid: string) => boolean, signal: AbortSignal): Promise<void>;
}

/** The groups of pods: package `cm-cgroups`. What is done to one pod's group is done one after another. */
export interface PodCgroupsPort {
  exists(pod: Pod, signal: AbortSignal): Promise<boolean>;
  /** Whether the pod's group is there as `ensure` has left it. Where absent, `exists` and `ensure` are asked each time. */
  isEnsured?(pod: Pod, signal: AbortSignal): Promise<boolean>;
  /** Makes the pod's group with its limits. @returns whether that was to be done */
  ensure(pod: Pod, signal: AbortSignal): Promise<boolean>;
  /** Kills what is left in it, then removes it; resolves when it is gone, or was not there. */
  destroy(uid: string, signal: AbortSignal): Promise<void>;
  /** Leaves a group that is to go, and cannot yet, the least CPU time. */
  reduceCpu(uid: string, signal: AbortSignal): Promise<void>;
  /** The UIDs of all pods that have a group, of this process's making or not. */
  pods(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Gives the groups of the QoS classes what their pods ask for together. */
  updateQos(active: readonly Pod[], signal: AbortSignal): Promise<void>;
  /** Looks what the pod's group is held to, where that is not known since it was set: its status tells it. */
  limits?(pod: Pod, signal: AbortSignal): Promise<unknown>;
}

/** The IDs that pods with user namespaces have of the host: package `userns`. */
export interface UserNamespacesPort {
  /** The pod is gone. Never rejects. */
  release(uid: string): Promise<void>;
  /** Releases what pods have that nobody knows. */
  releaseOrphans(isKnown: (uid: string) => boolean): Promise<void>;
}

/** Dead containers and sandboxes: package `container-gc`. */
export interface ContainerGcPort {
  garbageCollect(
    options: { readonly allSourcesReady: boolean; readonly evictNonDeletedPods: boolean },
    signal: AbortSignal,
  ): Promise<unknown>;
  /** Removes what need not be kept of a pod's dead containers, all of them where `removeAll`. */
  deleteContainersInPod(status: RuntimePodStatus, exitedContainerId: string, removeAll: boolean): void;
}

/** Images that nobody uses: package `image-gc`. */
export interface ImageGcPort {
  /** Removes what is too old, and what a full disk asks for. Rejects where that was not all possible. */
  garbageCollect(signal: AbortSignal): Promise<void>;
}

/** Pods that go when the node is short of something: package `eviction`. It is started as a service, and asked as an admit handler. */
export interface EvictionPort {
  /** What it sees of the node, and what it did. */
  explain(): unknown;
  /** What it did that had to do with a pod. */
  explainPod(uid: string): readonly unknown[];
}

/** Probes of containers: package `prober`. It looks at a pod's status for itself, and is started as a service. */
export interface ProbesPort {
  /** Results that changed, for one consumer. */
  readonly updates: AsyncIterable<ProbeUpdate>;
  /** Begins to probe a pod; called at every sync, a pod that is known stays as it is. */
  addPod(pod: Pod): void;
  /** The pod is being ended: only whether it is ready is still asked. */
  stopLivenessAndStartup(uid: string): void;
  removePod(uid: string): void;
  /** Forgets all pods but these. */
  cleanupPods(desired: ReadonlySet<string>): void;
  /** What stands, what is waited for and what was found last. */
  explain(uid: string): readonly unknown[];
}

/** A manager that only has to be started and ended with the kubelet. */
export interface BackgroundService {
  readonly name: string;
  start(signal: AbortSignal): Promise<void>;
}
