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
  PodConfigPort,
  PodManagerPort,
  PodWorkersPort,
  ProbesPort,
  RuntimePort,
  StatusPort,
  UserNamespacesPort,
  VolumesPort,
} from './ports.ts';

/** Everything that a {@link Kubelet} is made of. `apps/kubelet` passes the real parts, the simulation its own. */
export interface Dependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  readonly podConfig: PodConfigPort;
  readonly podManager: PodManagerPort;
  /** Makes the pod workers around the syncer that they are to call: the Kubelet itself. */
  readonly podWorkers: (syncer: PodSyncer, gate: RuntimeGate) => PodWorkersPort;
  readonly pleg: PlegPort;
  readonly podCache: PodCachePort;
  readonly runtime: RuntimePort;
  readonly status: StatusPort;
  readonly generatePodStatus: GeneratePodStatus;
  /** Told whenever the API server shows something else of a pod than was known, so that its status is compared (S7). */
  readonly statusSeen?: (uid: string) => void;
  /** Told of every pod as a source shows it, and when it is gone. */
  readonly startup?: { observed(pod: Pod): void; forget(uid: string): void };
  /** Absent where there is no API server. */
  readonly mirrorPods?: MirrorPodsPort;
  readonly volumes: VolumesPort;
  /** Keeps what happens to each pod, for {@link KubeletView.explain}; one of its own where absent, which others cannot write to. */
  readonly journal?: Pick<PodJournal, keyof PodJournal>;
  /** Absent: pods have what their specs ask, and are not resized. */
  readonly allocation?: AllocationPort;
  /** Absent: the runtime chooses where pods are. */
  readonly cgroups?: PodCgroupsPort;
  readonly containerGc: ContainerGcPort;
  /** Absent where pods get no user namespaces. */
  readonly userNamespaces?: UserNamespacesPort;
  /** Absent where the node has no devices: package `device-manager`. */
  readonly devices?: { health(): string | undefined };
  /** Absent where no image is ever to go by itself. */
  readonly imageGc?: ImageGcPort;
  /** Absent where no pod is ever evicted. */
  readonly eviction?: EvictionPort;
  /** What its probes find is in a pod's status at once, and wakes its worker (P7). */
  readonly probes?: ProbesPort;
  /** Asked in this order for each new pod. */
  readonly admitHandlers: readonly AdmitHandler[];
  /** Run beside the sync loop from its start to its end: pod sources, log rotation and the like. */
  readonly services: readonly BackgroundService[];
  /** Started once, when the runtime has answered for the first time. */
  readonly runtimeDependentServices: readonly BackgroundService[];
  /** The HTTP and gRPC servers that there are, each made around what the kubelet shows. */
  readonly servers?: Partial<Record<ServerName, (kubelet: KubeletView) => BackgroundService>>;
}

/** Holds pod workers back while the runtime is not healthy: they begin no step then, so that none has to fail and back off. */
export interface RuntimeGate {
  /** Resolves when the runtime is healthy. @throws the signal's reason */
  passed(signal: AbortSignal): Promise<void>;
}

/** The servers of a kubelet: health, the read-only port, the secured port, and the pod resources socket. */
export type ServerName = 'healthz' | 'readOnly' | 'main' | 'podResources';

/** What a kubelet shows of itself. */
export interface KubeletView {
  health(): KubeletHealth;
  /** What keeps the node from being ready, in upstream's words: the node's condition Ready has them. */
  readiness(): KubeletReadiness;
  /** Asks the runtime for its status now, so that {@link readiness} knows it. Never throws for what the runtime did. */
  updateRuntimeUp(signal: AbortSignal): Promise<void>;
  getPods(): readonly Pod[];
  /** Those that hold resources of the node, with what they were granted (N1). */
  activePods(): readonly Pod[];
  /** The pod that this node should run under a name, with its newest status; a mirror pod's name is its static pod's. */
  getPodByName(namespace: string, name: string): Pod | undefined;
  /** The UID of the pod that a mirror pod's UID stands for; any other as it is. */
  translatePodUid(uid: string): string;
  getRunningPods(signal?: AbortSignal): Promise<readonly RuntimePod[]>;
  explain(namespace: string, name: string): PodExplanation | undefined;
  /** What the node is short of, and what was done about it; `undefined` where no pod is ever evicted. */
  explainEviction(): unknown;
}

/** What is wrong with the kubelet, check by check; `undefined` stands for a check that passed. */
export interface KubeletHealth {
  readonly syncloop: string | undefined;
  readonly pleg: string | undefined;
  readonly runtime: string | undefined;
  /** Why the runtime did not answer its last status request, while it does not count as down yet; else absent. */
  readonly runtimeSilence?: string;
  /** Absent where the node has no devices. */
  readonly devicePlugins?: string | undefined;
}

/** What keeps a node from being ready; both empty where nothing does. */
export interface KubeletReadiness {
  readonly runtimeErrors: readonly string[];
  readonly networkErrors: readonly string[];
}

/** The settings of a {@link Kubelet}; the defaults are upstream's. `C` is the form of the program's configuration. */
export interface KubeletOptions<C = unknown> {
  /** What the program was configured with: kept for `getConfiguration`, not looked at. */
  readonly configuration: C;
  /** What events about the node itself refer to. */
  readonly nodeRef: ObjectReference;
  /** How often pods are looked over for deadlines, in ms; 1 s by default. */
  readonly syncPeriodMs?: number;
  /** How often housekeeping may run, in ms; 2 s by default. It does so when something happened, and at least every minute. */
  readonly housekeepingPeriodMs?: number;
  /** How often the runtime is asked for its status, in ms; 5 s by default. */
  readonly runtimeStatusPeriodMs?: number;
  /** How long the runtime may be silent before pods are no longer synced, in ms; 30 s by default. */
  readonly runtimeUpThresholdMs?: number;
  /** How often dead containers are collected, in ms; 1 min by default. */
  readonly containerGcPeriodMs?: number;
  /** How often unused images are collected, in ms; 5 min by default. */
  readonly imageGcPeriodMs?: number;
  /**
   * How often the pod workers look at each pod again (`syncFrequency`), in ms; 1 min by default. The sync loop is unhealthy when it was
   * last entered longer ago than twice this, and than 5 min.
   */
  readonly syncFrequencyMs?: number;
}

/** What a `Kubelet` is made with: the common ones may be left out, see `withDefaults` of `@node-agent/telemetry`. */
export type GivenDependencies = Omit<Dependencies, keyof CommonPorts> &
  Partial<Pick<Dependencies, keyof Dependencies & keyof CommonPorts>>;
