import type { Clock, Random } from '@node-agent/async';
import type { PodSyncer } from '@node-agent/contracts';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import type { CommonPorts, EventRecorder, Logger, Metrics, ObjectReference } from '@node-agent/telemetry';
import type { AdmitHandler } from './admit/admit-handler.ts';
import type { AllocationPort } from './admit/allocation.ts';
import type { PodExplanation } from './explain/explain.ts';
import type { PodJournal } from './explain/pod-journal.ts';
import type {
  BackgroundService,
  ContainerGcPort,
  EvictionPort,
  GeneratePodStatus,
  ImageGcPort,
  MirrorPodsPort,
  PlegPort,
  PodCachePort,
  PodCgroupsPort,
  PodClaimsPort,
  PodConfigPort,
  PodManagerPort,
  PodWorkersPort,
  ProbesPort,
  RuntimePort,
  StatusPort,
  UserNamespacesPort,
  VolumesPort,
} from './ports.ts';

/** Components of a {@link Kubelet}. `apps/kubelet` passes the real components, the simulation passes its own. */
export interface Dependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  readonly podConfig: PodConfigPort;
  readonly podManager: PodManagerPort;
  /** Creates the pod workers. The pod workers call the given syncer, which the Kubelet provides. */
  readonly podWorkers: (syncer: PodSyncer, gate: RuntimeGate) => PodWorkersPort;
  readonly pleg: PlegPort;
  readonly podCache: PodCachePort;
  readonly runtime: RuntimePort;
  readonly status: StatusPort;
  readonly generatePodStatus: GeneratePodStatus;
  /**
   * Called when the API server shows a changed pod, so that the status manager compares its own status of the pod with
   * the API's (S7).
   */
  readonly apiStatusChanged?: (uid: string) => void;
  /** Receives every pod as a source shows it, and the UIDs of pods that are gone. */
  readonly startup?: { observed(pod: Pod): void; forget(uid: string): void };
  /** Creates and deletes mirror pods; absent if there is no API server. */
  readonly mirrorPods?: MirrorPodsPort;
  readonly volumes: VolumesPort;
  /**
   * Records what happens to each pod, for {@link KubeletView.explain}. Default: a private journal, which no other
   * component can write to.
   */
  readonly journal?: Pick<PodJournal, keyof PodJournal>;
  /** Allocations and resizes. If absent, pods get the resources that their specs request, and are never resized. */
  readonly allocation?: AllocationPort;
  /** Manager of the pods' cgroups. If absent, the runtime chooses the cgroups of pods. */
  readonly cgroups?: PodCgroupsPort;
  readonly containerGc: ContainerGcPort;
  /** Manager of the host ID ranges of pods; absent if pods get no user namespaces. */
  readonly userNamespaces?: UserNamespacesPort;
  /** Manager of device plugins (package `device-manager`); absent if the node has no devices. */
  readonly devices?: { health(): string | undefined };
  /** Manager of ResourceClaims, see package `dra`. If absent, pods with ResourceClaims are rejected. */
  readonly claims?: PodClaimsPort;
  /** Garbage collection of unused images. If absent, images are never removed. */
  readonly imageGc?: ImageGcPort;
  /** Eviction manager. If absent, pods are never evicted. */
  readonly eviction?: EvictionPort;
  /** Prober, whose results appear in the pod's status immediately and trigger a sync of the pod (P7). */
  readonly probes?: ProbesPort;
  /** Admit handlers, in the order in which they are called for each new pod. */
  readonly admitHandlers: readonly AdmitHandler[];
  /** Services that run as long as the sync loop, such as pod sources and log rotation. */
  readonly services: readonly BackgroundService[];
  /** Services that are started once, when the runtime has first reported ready. */
  readonly runtimeDependentServices: readonly BackgroundService[];
  /** Factories of the available HTTP and gRPC servers. Each receives the view of the kubelet that it serves. */
  readonly servers?: Partial<Record<ServerName, (kubelet: KubeletView) => BackgroundService>>;
}

/**
 * Holds pod workers back while the runtime is not healthy. While pod workers wait here, they start no step, so no step
 * fails and causes a back-off.
 */
export interface RuntimeGate {
  /**
   * Resolves when the runtime is healthy.
   * @throws the signal's reason
   */
  passed(signal: AbortSignal): Promise<void>;
}

/** Servers of a kubelet: health port, read-only port, main (authenticated) port, admin socket, pod resources socket. */
export type ServerName = 'healthz' | 'readOnly' | 'main' | 'admin' | 'podResources';

/** The part of a kubelet that servers and other components may read. */
export interface KubeletView {
  health(): KubeletHealth;
  /**
   * Returns the reasons why the node is not ready, with upstream's messages, which the node's Ready condition shows.
   */
  readiness(): KubeletReadiness;
  /** Requests the runtime's status now, so that {@link readiness} is current. Never throws because of the runtime. */
  updateRuntimeUp(signal: AbortSignal): Promise<void>;
  getPods(): readonly Pod[];
  /** Returns the pods that hold resources of the node, with their allocated resources (N1). */
  activePods(): readonly Pod[];
  /**
   * Returns the pod of this name that the node should run, with its latest status. For the name of a mirror pod,
   * returns the static pod.
   */
  getPodByName(namespace: string, name: string): Pod | undefined;
  /** Returns the UID of the static pod for the UID of its mirror pod; any other UID unchanged. */
  translatePodUid(uid: string): string;
  getRunningPods(signal?: AbortSignal): Promise<readonly RuntimePod[]>;
  /** Returns the pod of {@link getRunningPods} with this UID, without listing the other pods. */
  getRunningPod(uid: string, signal?: AbortSignal): Promise<RuntimePod | undefined>;
  explain(namespace: string, name: string): PodExplanation | undefined;
  /**
   * Explains which resources the node is short of and what eviction did about it; `undefined` if pods are never
   * evicted.
   */
  explainEviction(): unknown;
}

/** Problems of the kubelet by health check; `undefined` for a check that passed. */
export interface KubeletHealth {
  readonly syncloop: string | undefined;
  readonly pleg: string | undefined;
  readonly runtime: string | undefined;
  /**
   * Reason why the runtime did not respond to the last status request; absent if the runtime responded, or already
   * counts as down.
   */
  readonly runtimeSilence?: string;
  /** Problem of the device plugin manager; absent if the node has no devices. */
  readonly devicePlugins?: string | undefined;
}

/** Reasons why a node is not ready; both lists are empty if it is ready. */
export interface KubeletReadiness {
  readonly runtimeErrors: readonly string[];
  readonly networkErrors: readonly string[];
}

/** Settings of a {@link Kubelet}. The defaults are upstream's. `C` is the type of the program's configuration. */
export interface KubeletOptions<C = unknown> {
  /** Configuration of the program, returned by `getConfiguration` and not interpreted. */
  readonly configuration: C;
  /** Object that events about the node refer to. */
  readonly nodeRef: ObjectReference;
  /** Interval at which pods are checked for expired active deadlines, in ms. Default: 1 s. */
  readonly syncPeriodMs?: number;
  /**
   * Minimum interval between housekeeping passes, in ms. Default: 2 s. A pass runs if something happened since the last
   * one, and at least every minute.
   */
  readonly housekeepingPeriodMs?: number;
  /** Interval between requests of the runtime's status, in ms. Default: 5 s. */
  readonly runtimeStatusPeriodMs?: number;
  /** Time without a successful status response after which pods are no longer synced, in ms. Default: 30 s. */
  readonly runtimeUpThresholdMs?: number;
  /** Interval of the garbage collection of dead containers, in ms. Default: 1 min. */
  readonly containerGcPeriodMs?: number;
  /** Interval of the garbage collection of unused images, in ms. Default: 5 min. */
  readonly imageGcPeriodMs?: number;
  /**
   * Interval at which pod workers sync each pod again (`syncFrequency`), in ms. Default: 1 min. The sync loop is
   * unhealthy if it was last entered both more than twice this interval ago and more than 5 min ago.
   */
  readonly syncFrequencyMs?: number;
}

/**
 * Constructor input of `Kubelet`. The common components are optional, see `withDefaults` of `@node-agent/telemetry`.
 */
export type GivenDependencies = Omit<Dependencies, keyof CommonPorts> &
  Partial<Pick<Dependencies, keyof Dependencies & keyof CommonPorts>>;
