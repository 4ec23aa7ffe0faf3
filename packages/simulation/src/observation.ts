import type { VersionedStatus } from '@node-agent/status';
import type { PortCall } from './node/lease.ts';
import type { Action } from './scenario/actions.ts';
import type { CpuPlan, ObjectPlan, PodPlan } from './scenario/plans.ts';
import type { ApiRequest, ShownPod } from './world/cluster-api.ts';
import type { BegunHook } from './world/hook-targets.ts';
import type { Life } from './world/ledger.ts';
import type { LockEvent } from './world/login-manager.ts';
import type { MountedObject } from './world/mounted-objects.ts';
import type { Figures, Scarce } from './world/pressure.ts';
import type { Probed } from './world/probe-targets.ts';
import type { RuntimeTruth } from './world/world.ts';

/** The steps that a pod worker takes. */
export type WorkerStep = 'syncPod' | 'syncTerminatingPod' | 'syncTerminatingRuntimePod' | 'syncTerminatedPod';

/** Something that was seen to happen. */
export type Happening =
  | { readonly kind: 'action'; readonly action: Action }
  | { readonly kind: 'faultsEnded' }
  /** A call to the runtime hangs from now on, by a fault. */
  | { readonly kind: 'callHangs'; readonly forMs: number }
  | { readonly kind: 'kubeletStarted' }
  | { readonly kind: 'kubeletEnded'; readonly how: 'killed' | 'stopped' }
  /** The kubelet's `run` ended by itself. */
  | { readonly kind: 'kubeletFailed'; readonly error: unknown }
  | { readonly kind: 'sourcesReady' }
  | { readonly kind: 'runtimeDown' }
  | { readonly kind: 'runtimeUp' }
  | { readonly kind: 'sandboxLost'; readonly id: string }
  | { readonly kind: 'containerStarted'; readonly life: Life }
  | { readonly kind: 'containerSignalled'; readonly life: Life }
  | { readonly kind: 'containerEnded'; readonly life: Life }
  | { readonly kind: 'call'; readonly call: PortCall }
  /** A probe has reached its container, and this is what comes of it. */
  | { readonly kind: 'probed'; readonly probed: Probed }
  /** A `postStart` hook has reached its container. */
  | { readonly kind: 'hookBegan'; readonly hook: BegunHook }
  /** A `preStop` hook that is no sleep has reached its container. */
  | { readonly kind: 'preStopBegan'; readonly life: Life }
  | {
      readonly kind: 'stepBegan';
      readonly step: WorkerStep;
      readonly uid: string;
      /** Why the pod is ended, as its status is to say, where somebody says why. */
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
  /** From time to time: what the kubelet says of the runtime, and which pods it knows. */
  | {
      readonly kind: 'health';
      readonly runtime: string | undefined;
      readonly podUids: readonly string[];
      readonly cluster?: ClusterLook | undefined;
    }
  /** The kubelet's request of the API server was answered. `shown`: the pod, where it was about one; `paths`: of all files, then. */
  | {
      readonly kind: 'apiRequest';
      readonly request: ApiRequest;
      readonly shown: ShownPod | undefined;
      readonly paths: readonly string[];
      /** The UIDs of pods that have a group, then. */
      readonly groups: readonly string[];
    }
  /** The runtime's record of a container that has ended is gone, and no kubelet has asked for that. */
  | { readonly kind: 'recordRemoved'; readonly id: string }
  /** A pod is bound to the node in the API right after this. */
  | { readonly kind: 'podCreated'; readonly pod: PodPlan }
  /** The user's deletion of a pod is done right after this. `graceSeconds`: what it has to end, where the user says so. */
  | { readonly kind: 'podDeleted'; readonly uid: string; readonly graceSeconds?: number }
  /** A secret or config map has this content from now on; none: it is gone. */
  | { readonly kind: 'objectChanged'; readonly object: ObjectPlan; readonly version: number | undefined }
  /** A pod asks for other resources from now on. */
  | { readonly kind: 'podResized'; readonly uid: string; readonly cpu: CpuPlan }
  /** The kubelet was told how much memory and disk there is. */
  | { readonly kind: 'figures'; readonly figures: Figures }
  /** The kubelet is of another opinion about what the node is short of. */
  | { readonly kind: 'pressure'; readonly pressure: Readonly<Record<Scarce, boolean>> }
  /** The kubelet says that it ends a pod so that the node (`of`: for a lack of what), or another pod, has what it needs. */
  | {
      readonly kind: 'podEndedByNode';
      readonly uid: string;
      readonly reason: 'Evicted' | 'Preempting';
      readonly of?: Scarce | undefined;
    }
  /** The kubelet says that it does not let a pod begin. `Evicted`: for the condition of the node. */
  | { readonly kind: 'podRefused'; readonly uid: string; readonly reason: string }
  /** The machine says that it shuts down, or that it does not. */
  | { readonly kind: 'shutdownSaid'; readonly isShuttingDown: boolean }
  /** The kubelet takes that in; it may ask, too, and be told what it knows. */
  | { readonly kind: 'shutdownHeard'; readonly isShuttingDown: boolean }
  /** The bus goes or comes by which that is told. */
  | { readonly kind: 'bus'; readonly up: boolean }
  /** A lock that delays the shutdown came or went; so many are held from now on. */
  | { readonly kind: 'lock'; readonly how: LockEvent; readonly held: number }
  /** The group of a pod is about to be gone. `volumes`: of the pod, on the disk. */
  | { readonly kind: 'groupRemoved'; readonly uid: string; readonly volumes: readonly string[] }
  /** The API server can be reached again, or requests fail no more. */
  | { readonly kind: 'apiCured'; readonly what: 'away' | 'faults' | 'stale' }
  /** Something was mounted, or nothing is any more (`source`: `undefined`). */
  | { readonly kind: 'mount'; readonly target: string; readonly source: string | undefined }
  /** All that can happen at this instant has happened. */
  | { readonly kind: 'settled' }
  /** The quiet is over; what is left is in the last look. */
  | { readonly kind: 'end'; readonly look: LastLook };

/** What there is at the end. */
export interface LastLook {
  /** All paths of the file system. */
  readonly paths: readonly string[];
  readonly mountPoints: readonly string[];
  readonly sandboxes: readonly { readonly id: string; readonly podUid: string; readonly ready: boolean }[];
  readonly containers: RuntimeTruth['containers'];
  /** The pods that have a group. */
  readonly groups: readonly string[];
  readonly kubeletTimers: number;
  readonly cachedUids: readonly string[];
  readonly cluster?: ClusterLook | undefined;
}

/** Pods as the API server shows them, and as the kubelet says they are. */
export interface ClusterLook {
  /** Whether the node is registered. */
  readonly registered: boolean;
  /** Its condition, where it has one. */
  readonly memoryPressure: boolean | undefined;
  /** What its condition Ready says, where it has one. */
  readonly ready: string | undefined;
  readonly mounted: readonly MountedObject[];
  readonly shown: readonly ShownPod[];
  readonly said: readonly { readonly uid: string; readonly phase: string | undefined; readonly containers: string }[];
}

/** A happening, when it was, and in which of the kubelet's lives (0: before the first). */
export type Observation = Happening & { readonly atMs: number; readonly kubelet: number };
