import type { VersionedStatus } from '@node-agent/status';
import type { PortCall } from './node/lease.ts';
import type { Action } from './scenario/actions.ts';
import type { DraFaultCall } from './scenario/claim-plans.ts';
import type { CpuPlan, ObjectPlan, PodPlan } from './scenario/plans.ts';
import type { ApiRequest, ShownPod } from './world/cluster-api.ts';
import type { CsiCall, CsiCallPhase } from './world/csi-driver.ts';
import type { CsiPlace } from './world/csi-drivers.ts';
import type { BegunHook } from './world/hook-targets.ts';
import type { Life } from './world/ledger.ts';
import type { LockEvent } from './world/login-manager.ts';
import type { MountedObject } from './world/mounted-objects.ts';
import type { Figures, Scarce } from './world/pressure.ts';
import type { Probed } from './world/probe-targets.ts';
import type { RuntimeTruth } from './world/world.ts';

/** The operations of a pod worker. */
export type WorkerStep = 'syncPod' | 'syncTerminatingPod' | 'syncTerminatingRuntimePod' | 'syncTerminatedPod';

/** An observed event. */
export type Happening =
  | { readonly kind: 'action'; readonly action: Action }
  | { readonly kind: 'faultsEnded' }
  /** An injected fault makes a call to the runtime hang. */
  | { readonly kind: 'callHangs'; readonly forMs: number }
  | { readonly kind: 'kubeletStarted' }
  | { readonly kind: 'kubeletEnded'; readonly how: 'killed' | 'stopped' }
  /** The kubelet could not use its state files, and will be started again. */
  | { readonly kind: 'kubeletGaveUp'; readonly error: unknown }
  /** The kubelet's `run` ended without being stopped. */
  | { readonly kind: 'kubeletFailed'; readonly error: unknown }
  | { readonly kind: 'sourcesReady' }
  | { readonly kind: 'runtimeDown' }
  | { readonly kind: 'runtimeUp' }
  | { readonly kind: 'sandboxLost'; readonly id: string }
  | { readonly kind: 'containerStarted'; readonly life: Life }
  | { readonly kind: 'containerSignalled'; readonly life: Life }
  | { readonly kind: 'containerEnded'; readonly life: Life }
  | { readonly kind: 'call'; readonly call: PortCall }
  /** A probe reached its container. `probed` has the result. */
  | { readonly kind: 'probed'; readonly probed: Probed }
  /** A `postStart` hook reached its container. */
  | { readonly kind: 'hookBegan'; readonly hook: BegunHook }
  /** A `preStop` hook other than a sleep reached its container. */
  | { readonly kind: 'preStopBegan'; readonly life: Life }
  | {
      readonly kind: 'stepBegan';
      readonly step: WorkerStep;
      readonly uid: string;
      /** Reason of the termination for the pod's status, if the caller gave one. */
      readonly reason?: string | undefined;
    }
  | {
      readonly kind: 'stepEnded';
      readonly step: WorkerStep;
      readonly uid: string;
      readonly ok: boolean;
      readonly isTerminal: boolean;
    }
  | { readonly kind: 'status'; readonly status: VersionedStatus }
  /** Periodic sample of the kubelet's state: its message about the runtime, and the pods that it tracks. */
  | {
      readonly kind: 'health';
      readonly runtime: string | undefined;
      readonly podUids: readonly string[];
      readonly cluster?: ClusterLook | undefined;
    }
  /**
   * The API server responded to a request of the kubelet. `shown` is the pod of the request, if any. `paths` are all
   * paths of the file system at that time.
   */
  | {
      readonly kind: 'apiRequest';
      readonly request: ApiRequest;
      readonly shown: ShownPod | undefined;
      readonly paths: readonly string[];
      /** UIDs of the pods that had a cgroup at that time. */
      readonly groups: readonly string[];
    }
  /** The runtime's record of an exited container was removed without a request from a kubelet. */
  | { readonly kind: 'recordRemoved'; readonly id: string; readonly podUid: string; readonly name: string }
  /** A pod will be bound to the node in the API immediately after this observation. */
  | { readonly kind: 'podCreated'; readonly pod: PodPlan }
  /**
   * A user's deletion of a pod takes effect immediately after this observation. `graceSeconds` is the grace period, if
   * the user sets a grace period.
   */
  | { readonly kind: 'podDeleted'; readonly uid: string; readonly graceSeconds?: number }
  /** A secret or config map now has this content. The version `undefined` means that the object is deleted. */
  | { readonly kind: 'objectChanged'; readonly object: ObjectPlan; readonly version: number | undefined }
  /** A pod now requests other resources. */
  | { readonly kind: 'podResized'; readonly uid: string; readonly cpu: CpuPlan }
  /** The kubelet received stats of memory and disk. */
  | { readonly kind: 'figures'; readonly figures: Figures }
  /** The kubelet reported another state of memory, disk or PID pressure. */
  | { readonly kind: 'pressure'; readonly pressure: Readonly<Record<Scarce, boolean>> }
  /**
   * The kubelet reports that it terminates a pod to free resources. An eviction frees the resource `of` for the node, a
   * preemption frees resources for another pod.
   */
  | {
      readonly kind: 'podEndedByNode';
      readonly uid: string;
      readonly reason: 'Evicted' | 'Preempting';
      readonly of?: Scarce | undefined;
    }
  /** The kubelet rejects a pod at admission. The reason `Evicted` means that the node has a pressure condition. */
  | { readonly kind: 'podRefused'; readonly uid: string; readonly reason: string }
  /** logind announced a shutdown, or that no shutdown is in progress. */
  | { readonly kind: 'shutdownSaid'; readonly isShuttingDown: boolean }
  /** The kubelet received this announcement, or the response to its own query. */
  | { readonly kind: 'shutdownHeard'; readonly isShuttingDown: boolean }
  /** The system bus that carries these announcements went down or came up. */
  | { readonly kind: 'bus'; readonly up: boolean }
  /** An inhibitor lock, which delays the shutdown, was taken or released. `held` is the new number of locks. */
  | { readonly kind: 'lock'; readonly how: LockEvent; readonly held: number }
  /** The cgroup of a pod is about to be removed. `volumes` lists the pod's volumes that still exist on disk. */
  | { readonly kind: 'groupRemoved'; readonly uid: string; readonly volumes: readonly string[] }
  /** The API server is reachable again, or requests no longer fail. */
  | { readonly kind: 'apiCured'; readonly what: 'away' | 'faults' | 'stale' }
  /** A file system was mounted, or unmounted if `source` is `undefined`. */
  | { readonly kind: 'mount'; readonly target: string; readonly source: string | undefined }
  /**
   * A step of a call of a CSI driver. `code` is the result, or the rule of the CSI specification that the call broke.
   * `reported` states whether the node's `volumesInUse` in the API contains the volume.
   */
  | {
      readonly kind: 'csiCall';
      readonly call: CsiCall;
      readonly phase: CsiCallPhase;
      readonly code?: string | undefined;
      readonly reported: boolean;
    }
  /** A controller has attached or detached a volume. */
  | { readonly kind: 'attachment'; readonly volume: string; readonly attached: boolean }
  /** `volumesInUse` of the node has changed in the API; `undefined` if the node is not registered. */
  | { readonly kind: 'volumesInUse'; readonly names: readonly string[] | undefined }
  /** A step of a call of the DRA driver for one claim. The phase `answered` means that the call succeeded. */
  | {
      readonly kind: 'claimCall';
      readonly claim: string;
      readonly call: DraFaultCall;
      readonly phase: 'began' | 'acted' | 'answered';
    }
  /** The machine was off, and the next kubelet has other policies for CPUs and memory than the previous one. */
  | { readonly kind: 'policiesChanged' }
  /** The machine was off: nothing is mounted, staged or published any more. */
  | { readonly kind: 'poweredOff' }
  /** All events of the current instant have happened. */
  | { readonly kind: 'settled' }
  /** The quiet period is over. `look` is the final state. */
  | { readonly kind: 'end'; readonly look: LastLook };

/** The final state of a run. */
export interface LastLook {
  /** All paths of the file system. */
  readonly paths: readonly string[];
  readonly mountPoints: readonly string[];
  readonly sandboxes: readonly { readonly id: string; readonly podUid: string; readonly ready: boolean }[];
  readonly containers: RuntimeTruth['containers'];
  /** UIDs of the pods that have a cgroup. */
  readonly groups: readonly string[];
  readonly kubeletTimers: number;
  readonly cachedUids: readonly string[];
  readonly cluster?: ClusterLook | undefined;
  readonly volumes?: VolumesLook | undefined;
}

/** States of CSI volumes in the drivers, on the machine and in the API. */
export interface VolumesLook {
  readonly staged: readonly CsiPlace[];
  readonly published: readonly CsiPlace[];
  /** Volumes that a controller has attached. */
  readonly attached: readonly string[];
  /** Names in the node's `volumesInUse`. */
  readonly inUse: readonly string[];
  /** Paths that loop devices hold open. */
  readonly loops: readonly string[];
  /** Capacities of volumes and of their claims, by name. */
  readonly sizes: ReadonlyMap<string, { readonly volume: string | undefined; readonly claim: string | undefined }>;
}

/** Pods as the API server stores them, and as the kubelet reports them. */
export interface ClusterLook {
  /** Whether the node is registered. */
  readonly registered: boolean;
  /** The node's condition MemoryPressure, if present. */
  readonly memoryPressure: boolean | undefined;
  /** Status and message of the node's condition Ready, if present. */
  readonly ready: string | undefined;
  readonly mounted: readonly MountedObject[];
  readonly shown: readonly ShownPod[];
  readonly said: readonly { readonly uid: string; readonly phase: string | undefined; readonly containers: string }[];
}

/** An observed event with its time and the number of the kubelet's life (0: before the first). */
export type Observation = Happening & { readonly atMs: number; readonly kubelet: number };
