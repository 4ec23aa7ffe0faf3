import type { EventFaultRule, RpcFault, RpcName } from '@node-agent/fake-cri';
import type { FileOperation } from '@node-agent/host/testing';
import type { Scarce } from '../world/pressure.ts';
import type { BrokenKind } from './broken-plans.ts';
import type { DevicePluginPlan, PluginFaultKind } from './device-plans.ts';
import type { HostileKind } from './hostile-plans.ts';
import type { ContainerPlan, CpuPlan, ObjectPlan, PodPlan } from './plans.ts';
import type { ShutdownPlan } from './shutdown-plans.ts';

/** What is done to the machine at an instant; all of it is data, so that a trace can be kept, replayed and cut down. */
export type Action = { readonly atMs: number } & (
  | { readonly do: 'writeManifest'; readonly file: string; readonly pod: PodPlan }
  | { readonly do: 'breakManifest'; readonly file: string; readonly content: string }
  | { readonly do: 'removeManifest'; readonly file: string }
  /** What the manifest URL serves from now on; an empty list says that there are no pods. */
  | { readonly do: 'serve'; readonly pods: readonly PodPlan[] }
  /** The manifest URL answers with this status for so long. */
  | { readonly do: 'serveError'; readonly status: number; readonly forMs: number }
  | {
      readonly do: 'rpcFault';
      readonly rpc: RpcName;
      readonly fault: RpcFault;
      readonly skip: number;
      readonly times: number;
    }
  | {
      readonly do: 'eventFault';
      readonly event: EventFaultRule['event'];
      readonly fault: EventFaultRule['fault'];
      readonly times: number;
    }
  | {
      readonly do: 'fileFault';
      readonly code: 'ENOSPC' | 'EIO' | 'EACCES';
      readonly operation?: FileOperation;
      readonly path: string;
      readonly forMs: number;
    }
  /** The live container of this number, counted around, dies by itself. */
  | { readonly do: 'killContainer'; readonly nth: number; readonly exitCode: number; readonly oomKilled: boolean }
  | { readonly do: 'killSandbox'; readonly nth: number }
  /** The runtime loses its records of all dead containers, as by `crictl rm -a`. */
  | { readonly do: 'removeRecords' }
  /** The runtime dies, and comes back. `lost`: of its containers, which have died meanwhile. */
  | { readonly do: 'crashRuntime'; readonly downMs: number; readonly lost: 'none' | 'half' | 'all' }
  /** A pod whose containers run fills its files with these. */
  | { readonly do: 'hostileFiles'; readonly uid: string; readonly what: readonly HostileKind[] }
  /** The file system that some pods mount answers nothing for so long. */
  | { readonly do: 'hangForeign'; readonly forMs: number }
  | { readonly do: 'networkDown'; readonly forMs: number }
  /**
   * `kill -9` of the kubelet: at its call to the outside of this number from now on (0: at once), before the call has
   * any effect or after it has begun. `inFlight`: what becomes of the calls that the runtime has begun.
   */
  | {
      readonly do: 'killKubelet';
      readonly afterCalls: number;
      readonly effect: 'before' | 'after';
      readonly inFlight: 'cancelled' | 'completed';
      readonly downMs: number;
    }
  /** The kubelet is told to end, and started again. */
  | { readonly do: 'restartKubelet'; readonly downMs: number }
  /** A device is ill for so long. */
  | { readonly do: 'deviceIll'; readonly resource: string; readonly id: string; readonly forMs: number }
  /** The process of a device plugin dies, and comes back. */
  | { readonly do: 'restartPlugin'; readonly resource: string; readonly downMs: number }
  /** A device plugin answers Allocate with an error for so long, or not before that is over. */
  | {
      readonly do: 'pluginFault';
      readonly resource: string;
      readonly fault: PluginFaultKind;
      readonly forMs: number;
    }
  /**
   * The machine says that it shuts down. Where it is for so long off then (`downMs`), it loses its power when nobody delays that any more, or
   * when `forMs` are over; where not, the shutdown is cancelled after `forMs`.
   */
  | { readonly do: 'shutdown'; readonly forMs: number; readonly downMs?: number }
  /** The machine loses its power for so long, without a word. */
  | { readonly do: 'powerFailure'; readonly downMs: number }
  /** The bus is gone by which the machine tells of its shutdown. */
  | { readonly do: 'busAway'; readonly forMs: number }
  /** Whoever holds the kubelet's inhibitor lock dies. */
  | { readonly do: 'loseLock' }
  | { readonly do: 'jumpClock'; readonly ms: number }
  /** A pod is bound to the node in the API as soon as no other one there has its name. */
  | { readonly do: 'apiCreate'; readonly pod: PodPlan }
  /** The API server sends an object as a pod of the node that is none. */
  | { readonly do: 'apiBroken'; readonly kind: BrokenKind }
  /** It is asked to be deleted there, or taken out of it at once (`force`). `graceSeconds`: in place of what its spec says, 1 at least. */
  | {
      readonly do: 'apiDelete';
      readonly name: string;
      readonly uid: string;
      readonly force: boolean;
      readonly graceSeconds?: number;
    }
  /** The owner of a pod's readiness gate sets its condition to True. */
  | { readonly do: 'apiGate'; readonly name: string }
  /** Somebody deletes the mirror pod of a static pod. */
  | { readonly do: 'apiDeleteMirror'; readonly name: string }
  /** The API server refuses connections. */
  | { readonly do: 'apiAway'; readonly forMs: number }
  /** The kubelet's requests fail by chance: delays, 429, 5xx, lost answers, watches that are cut, hang or expire. */
  | { readonly do: 'apiFaults'; readonly requests: number; readonly watches: number; readonly forMs: number }
  /** The API server forgets its past, and ends all watches. */
  | { readonly do: 'apiCompact' }
  /** All that the API server has is lost: a new cluster begins. */
  | { readonly do: 'apiWipe' }
  /** Reads that may come from a cache come from one that is so many writes behind; lists are not streamed. */
  | { readonly do: 'apiStale'; readonly behind: number; readonly forMs: number }
  /** A secret or config map is made, or gets other content. */
  | { readonly do: 'apiPut'; readonly object: ObjectPlan; readonly version: number }
  | { readonly do: 'apiRemove'; readonly object: ObjectPlan }
  /** Somebody asks for other resources for a pod that is there. */
  | { readonly do: 'apiResize'; readonly name: string; readonly uid: string; readonly cpu: CpuPlan }
  /** An ephemeral container is added to a pod. */
  | { readonly do: 'apiDebug'; readonly name: string; readonly uid: string; readonly container: ContainerPlan }
  /** The machine is short of memory, or of disk, for so long. `unused`: that is for an image that nobody uses. */
  | { readonly do: 'pressure'; readonly of: Scarce; readonly unused: boolean; readonly forMs: number }
  /** The mount of a disk fails for so long, or does not come back before that is over. */
  | { readonly do: 'diskFault'; readonly disk: string; readonly fault: 'fail' | 'hang'; readonly forMs: number }
  /** The machine has less memory left, or disk, than a soft threshold asks for, for so long; nothing where there is none. */
  | { readonly do: 'lowOn'; readonly of: Scarce; readonly forMs: number }
);

/** How long an action's own fault lasts. */
export function durationMs(action: Action): number {
  const forMs = 'forMs' in action ? action.forMs : 0;
  return forMs + ('downMs' in action ? (action.downMs ?? 0) : 0);
}

/** How long soft thresholds leave a node, and the pods that go for them. */
export interface SoftThresholdsPlan {
  /** For how long there must have been too little until a pod is evicted. */
  readonly graceSeconds: number;
  /** What such a pod has to end at most; its own grace period where that is negative. */
  readonly maxPodGraceSeconds: number;
}

/** What does not change during a run. */
export interface NodePlan {
  /** What the first delay of a crashing container is, and the longest. */
  readonly backOff: { readonly initialMs: number; readonly maxMs: number };
  /** Whether the runtime has container events (containerd 1.6 has none). */
  readonly events: boolean;
  /** Whether the runtime takes its usual time for what it does. */
  readonly latencies: boolean;
  /** Whether pods come from a URL, too. */
  readonly http: boolean;
  /** How long after the kubelet's start the URL answers for the first time. */
  readonly httpDelayMs: number;
  /** Whether the node is one of a cluster, with an API server; alone where absent. */
  readonly cluster?: boolean;
  /** Who offers devices; nobody where absent. */
  readonly devices?: readonly DevicePluginPlan[];
  /** How the machine's shutdown is delayed for pods; it is not where absent. */
  readonly shutdown?: ShutdownPlan;
  /** What the node has to give, where that is counted. */
  readonly resources?: {
    readonly cpuCount: number;
    /** How long a condition outlasts what made it. */
    readonly pressureTransitionMs: number;
    /** How old its figures may become; 0: they are of the moment. */
    readonly figuresEveryMs: number;
    /** Its soft thresholds; none where absent. */
    readonly soft?: SoftThresholdsPlan;
  };
}

/** A whole run, as data. */
export interface Scenario {
  readonly seed: number;
  readonly node: NodePlan;
  readonly actions: readonly Action[];
  /** Faults end here at the latest, and the quiet begins in which everything has to become as it is wanted. */
  readonly faultsEndMs: number;
  /** How long the quiet is. */
  readonly quietMs: number;
}
