import type { ProbeResults } from '@node-agent/contracts';
import type { Container, Pod, RestartFeatures, RuntimePodStatus } from '@node-agent/pod-spec';
import type { ContainerUpdate, ResizeContext, ResizedResource } from './resize-actions.ts';

/** What made the kubelet kill a container; it decides which grace period holds. `Unknown`: nothing in particular. */
export type KillReason = 'StartupProbe' | 'LivenessProbe' | 'FailedPostStartHook' | 'RestartAllContainers' | 'Unknown';

const KILL_REASONS: readonly KillReason[] = [
  'StartupProbe',
  'LivenessProbe',
  'FailedPostStartHook',
  'RestartAllContainers',
];

/** The reason that was written down of a kill; `Unknown` for any other text. */
export function killReason(text: string): KillReason {
  return KILL_REASONS.find((reason) => reason === text) ?? 'Unknown';
}

/** Why a container is to be killed. */
export interface ContainerToKill {
  readonly name: string;
  /** The text of its `Killing` event; '' for the usual one. */
  readonly message: string;
  readonly reason: KillReason;
}

/** A container record to be removed, so that all containers of its pod begin anew (KEP-5532). */
export interface ContainerToReset {
  readonly id: string;
  readonly name: string;
  /** Whether it has to be killed first, at once. */
  readonly kill: boolean;
  /** Whether it has never run: one that the runtime will not remove then is in nobody's way. */
  readonly neverRan: boolean;
}

/** What makes the runtime agree with a pod (`podActions` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). */
export interface PodActions {
  /** Stop every container that runs, and the sandbox. Where it is set, `containersToKill` says nothing. */
  readonly killPod: boolean;
  /** Run a new sandbox, after the old one was stopped. */
  readonly createSandbox: boolean;
  /** The sandbox that is there; '' where there is none. */
  readonly sandboxId: string;
  /** The attempt number of the sandbox that is there, or that is to be run. */
  readonly attempt: number;
  /** Indexes into `spec.initContainers`, in the order in which they start. */
  readonly initContainersToStart: readonly number[];
  /** Indexes into `spec.containers`, ascending. */
  readonly containersToStart: readonly number[];
  /** Indexes into `spec.ephemeralContainers`, ascending. */
  readonly ephemeralContainersToStart: readonly number[];
  /** By container id. */
  readonly containersToKill: ReadonlyMap<string, ContainerToKill>;
  /** In the order in which they go; those whose exit asked for it are the last, so that a crash half-way is seen. */
  readonly containersToReset: readonly ContainerToReset[];
  /** Running containers that get other resources, in the order in which they do. */
  readonly containersToUpdate: Readonly<Record<ResizedResource, readonly ContainerUpdate[]>>;
  /** The pod's group is to be resized though no container is updated: one begins anew for it, or has begun. */
  readonly updatePodResources: boolean;
  /** The pod's own resources are to be changed. */
  readonly updatePodLevelResources: boolean;
}

/** {@link PodActions} while they are computed. */
export interface PodActionsDraft {
  killPod: boolean;
  createSandbox: boolean;
  sandboxId: string;
  attempt: number;
  initContainersToStart: number[];
  containersToStart: number[];
  ephemeralContainersToStart: number[];
  containersToKill: Map<string, ContainerToKill>;
  containersToReset: ContainerToReset[];
  containersToUpdate: Record<ResizedResource, ContainerUpdate[]>;
  updatePodResources: boolean;
  updatePodLevelResources: boolean;
}

/** The probe results that decide whether a container is restarted. */
export type RestartProbeResults = Pick<ProbeResults, 'liveness' | 'startup'>;

/** What {@link PodActions} depend on beside the pod and its status. */
export interface PodActionsContext {
  readonly probes: RestartProbeResults;
  /** Both on where absent. */
  readonly features?: RestartFeatures;
  /** The hash that a container's annotation is compared with; the upstream one where absent. */
  readonly containerHash?: (container: Container) => string;
  /** Absent: running containers keep what they were created with. */
  readonly resize?: ResizeContext;
}

/** The same with nothing absent, as the parts of the rule hand it on. */
export interface Situation {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly probes: RestartProbeResults;
  readonly features: RestartFeatures;
  readonly containerHash: (container: Container) => string;
  readonly resize: ResizeContext | undefined;
}
