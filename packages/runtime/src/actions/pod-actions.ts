import type { ProbeResults } from '@node-agent/contracts';
import type { Container, Pod, RestartFeatures, RuntimePodStatus } from '@node-agent/pod-spec';
import type { ContainerUpdate, ResizeContext, ResizedResource } from './resize-actions.ts';

/** Reason why the kubelet kills a container; it determines the grace period. `Unknown`: no specific reason. */
export type KillReason = 'StartupProbe' | 'LivenessProbe' | 'FailedPostStartHook' | 'RestartAllContainers' | 'Unknown';

const KILL_REASONS: readonly KillReason[] = [
  'StartupProbe',
  'LivenessProbe',
  'FailedPostStartHook',
  'RestartAllContainers',
];

/** Parses a recorded kill reason; `Unknown` for any other text. */
export function killReason(text: string): KillReason {
  return KILL_REASONS.find((reason) => reason === text) ?? 'Unknown';
}

/** Why a container must be killed. */
export interface ContainerToKill {
  readonly name: string;
  /** Message of the `Killing` event; '' for the default message. */
  readonly message: string;
  readonly reason: KillReason;
}

/** A container record to remove, so that all containers of its pod are restarted (KEP-5532). */
export interface ContainerToReset {
  readonly id: string;
  readonly name: string;
  /** Whether the container must be killed first, without a grace period. */
  readonly kill: boolean;
  /** Whether the container has never run. If the runtime fails to remove such a container, the restart proceeds. */
  readonly neverRan: boolean;
}

/** Actions that make the runtime match a pod (`podActions` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). */
export interface PodActions {
  /** Whether to stop all running containers and the sandbox. If set, `containersToKill` is irrelevant. */
  readonly killPod: boolean;
  /** Whether to create a new sandbox after the old one was stopped. */
  readonly createSandbox: boolean;
  /** ID of the existing sandbox; '' if there is none. */
  readonly sandboxId: string;
  /** Attempt number of the existing sandbox, or of the one to create. */
  readonly attempt: number;
  /** Indexes into `spec.initContainers`, in start order. */
  readonly initContainersToStart: readonly number[];
  /** Indexes into `spec.containers`, ascending. */
  readonly containersToStart: readonly number[];
  /** Indexes into `spec.ephemeralContainers`, ascending. */
  readonly ephemeralContainersToStart: readonly number[];
  /** Containers to kill, by container ID. */
  readonly containersToKill: ReadonlyMap<string, ContainerToKill>;
  /**
   * Container records to remove for a restart of all containers, in order of removal. Containers whose exit requested
   * the restart come last, so that an interrupted removal is detected and continued.
   */
  readonly containersToReset: readonly ContainerToReset[];
  /** Resource updates of running containers, in order. */
  readonly containersToUpdate: Readonly<Record<ResizedResource, readonly ContainerUpdate[]>>;
  /**
   * Whether to update the pod's cgroup although no container is updated, because a container is or was restarted for
   * the resize.
   */
  readonly updatePodResources: boolean;
  /** Whether to update the pod-level resources. */
  readonly updatePodLevelResources: boolean;
}

/** Mutable form of {@link PodActions} during the computation. */
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

/** Probe results that decide whether a container is restarted. */
export type RestartProbeResults = Pick<ProbeResults, 'liveness' | 'startup'>;

/** Inputs of {@link PodActions} besides the pod and its status. */
export interface PodActionsContext {
  readonly probes: RestartProbeResults;
  /** Feature gates that affect restarts. Default: all enabled. */
  readonly features?: RestartFeatures;
  /** Hash to compare with a container's annotation. Default: upstream's hash. */
  readonly containerHash?: (container: Container) => string;
  /** Inputs of the resize rules. If absent, running containers keep the resources they were created with. */
  readonly resize?: ResizeContext;
}

/** Inputs of the rule that computes the actions of a pod, with the defaults filled in. */
export interface Situation {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly probes: RestartProbeResults;
  readonly features: RestartFeatures;
  readonly containerHash: (container: Container) => string;
  readonly resize: ResizeContext | undefined;
}
