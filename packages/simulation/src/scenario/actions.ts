import type { EventFaultRule, RpcFault, RpcName } from '@node-agent/fake-cri';
import type { FileOperation } from '@node-agent/host/testing';
import type { Scarce } from '../world/pressure.ts';
import type { BrokenKind } from './broken-plans.ts';
import type { ClaimsPlan, DraFaultCall, DraFaultKind } from './claim-plans.ts';
import type { DevicePluginPlan, PluginFaultKind } from './device-plans.ts';
import type { HostileKind } from './hostile-plans.ts';
import type { NumaPlan, WholePlan } from './numa-plans.ts';
import type { ContainerPlan, CpuPlan, ObjectPlan, PodPlan } from './plans.ts';
import type { ShutdownPlan } from './shutdown-plans.ts';
import type { CsiFaultCall, CsiFaultKind, CsiPlan } from './volume-plans.ts';

/**
 * An action on the machine at a point in time. Actions are data, so that a trace can be stored, replayed and minimized.
 */
export type Action = { readonly atMs: number } & (
  | { readonly do: 'writeManifest'; readonly file: string; readonly pod: PodPlan }
  | { readonly do: 'breakManifest'; readonly file: string; readonly content: string }
  | { readonly do: 'removeManifest'; readonly file: string }
  /** The manifest URL serves these pods from now on. An empty list means that there are no pods. */
  | { readonly do: 'serve'; readonly pods: readonly PodPlan[] }
  /** The manifest URL responds with this status for `forMs`. */
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
  /** The live container with this index (modulo the number of live containers) is killed with this exit code. */
  | { readonly do: 'killContainer'; readonly nth: number; readonly exitCode: number; readonly oomKilled: boolean }
  | { readonly do: 'killSandbox'; readonly nth: number }
  /** The runtime loses its records of all exited containers, as by `crictl rm -a`. */
  | { readonly do: 'removeRecords' }
  /**
   * The runtime crashes and recovers after `downMs`. `lost` is the fraction of the runtime's containers that die during
   * this time.
   */
  | { readonly do: 'crashRuntime'; readonly downMs: number; readonly lost: 'none' | 'half' | 'all' }
  /** A pod with running containers fills its files with these kinds of content. */
  | { readonly do: 'hostileFiles'; readonly uid: string; readonly what: readonly HostileKind[] }
  /** The foreign file system that some pods mount hangs for `forMs`. */
  | { readonly do: 'hangForeign'; readonly forMs: number }
  | { readonly do: 'networkDown'; readonly forMs: number }
  /**
   * The kubelet is killed with SIGKILL at its n-th call from now (0: immediately). `effect` decides whether the kill
   * comes before the call or after the call has started. `inFlight` decides whether calls that the runtime has started
   * are cancelled or completed.
   */
  | {
      readonly do: 'killKubelet';
      readonly afterCalls: number;
      readonly effect: 'before' | 'after';
      readonly inFlight: 'cancelled' | 'completed';
      readonly downMs: number;
    }
  /** The kubelet is requested to stop, and is started again after `downMs`. */
  | { readonly do: 'restartKubelet'; readonly downMs: number }
  /** A device is unhealthy for `forMs`. */
  | { readonly do: 'deviceIll'; readonly resource: string; readonly id: string; readonly forMs: number }
  /** The process of a device plugin dies and is restarted after `downMs`. */
  | { readonly do: 'restartPlugin'; readonly resource: string; readonly downMs: number }
  /** For `forMs`, a device plugin's Allocate fails or hangs. */
  | {
      readonly do: 'pluginFault';
      readonly resource: string;
      readonly fault: PluginFaultKind;
      readonly forMs: number;
    }
  /** For `forMs`, a call of a CSI driver has a fault. */
  | {
      readonly do: 'csiFault';
      readonly driver: string;
      readonly call: CsiFaultCall;
      readonly fault: CsiFaultKind;
      readonly forMs: number;
    }
  /**
   * The process of a CSI driver dies and is restarted after `downMs`. With `clean`, it removes its socket, as after
   * SIGTERM.
   */
  | { readonly do: 'restartCsi'; readonly driver: string; readonly downMs: number; readonly clean: boolean }
  /** The controller that attaches volumes does nothing for `forMs`. */
  | { readonly do: 'attacherAway'; readonly forMs: number }
  /** A controller has expanded a volume to this size; the node must expand it, too. */
  | { readonly do: 'expandVolume'; readonly volume: string; readonly gibibytes: number }
  /**
   * logind announces a shutdown. With `downMs`, the machine powers off for `downMs` when no lock delays the shutdown
   * any more, at the latest after `forMs`. Without `downMs`, the shutdown is cancelled after `forMs`.
   */
  | { readonly do: 'shutdown'; readonly forMs: number; readonly downMs?: number }
  /** The machine loses its power for `downMs` without an announcement. */
  | { readonly do: 'powerFailure'; readonly downMs: number }
  /** The system bus that announces shutdowns is down for `forMs`. */
  | { readonly do: 'busAway'; readonly forMs: number }
  /** The process that holds the kubelet's inhibitor lock dies. */
  | { readonly do: 'loseLock' }
  | { readonly do: 'jumpClock'; readonly ms: number }
  /** A pod is bound to the node in the API as soon as no other pod has its name. */
  | { readonly do: 'apiCreate'; readonly pod: PodPlan }
  /** The API server sends an object as a pod of the node, but the object is not a valid pod. */
  | { readonly do: 'apiBroken'; readonly kind: BrokenKind }
  /**
   * A pod is deleted in the API, gracefully or with `force`. `graceSeconds` (at least 1) replaces the grace period of
   * the pod's spec.
   */
  | {
      readonly do: 'apiDelete';
      readonly name: string;
      readonly uid: string;
      readonly force: boolean;
      readonly graceSeconds?: number;
    }
  /** The owner of a pod's readiness gate sets its condition to True. */
  | { readonly do: 'apiGate'; readonly name: string }
  /** A user deletes the mirror pod of a static pod. */
  | { readonly do: 'apiDeleteMirror'; readonly name: string }
  /** The API server refuses connections for `forMs`. */
  | { readonly do: 'apiAway'; readonly forMs: number }
  /**
   * The kubelet's requests fail randomly: delays, 429, 5xx, lost responses, and watches that are cut, hang or expire.
   */
  | { readonly do: 'apiFaults'; readonly requests: number; readonly watches: number; readonly forMs: number }
  /** The API server compacts its store and ends all watches. */
  | { readonly do: 'apiCompact' }
  /** The API server loses its store: a new, empty cluster. */
  | { readonly do: 'apiWipe' }
  /**
   * For `forMs`, reads that may be served from a cache return a state that is `behind` writes old. While this lasts,
   * lists are not streamed.
   */
  | { readonly do: 'apiStale'; readonly behind: number; readonly forMs: number }
  /** A secret or config map is created or changed. */
  | { readonly do: 'apiPut'; readonly object: ObjectPlan; readonly version: number }
  | { readonly do: 'apiRemove'; readonly object: ObjectPlan }
  /** A user requests other resources for an existing pod. */
  | { readonly do: 'apiResize'; readonly name: string; readonly uid: string; readonly cpu: CpuPlan }
  /** For `forMs`, a call of the DRA driver has a fault. */
  | { readonly do: 'draFault'; readonly call: DraFaultCall; readonly fault: DraFaultKind; readonly forMs: number }
  /** The process of the DRA driver dies and is restarted after `downMs`. With `clean`, it removes its socket. */
  | { readonly do: 'restartDra'; readonly downMs: number; readonly clean: boolean }
  /** A user requests other resources for a container of a Guaranteed pod. */
  | {
      readonly do: 'apiResizeWhole';
      readonly name: string;
      readonly uid: string;
      readonly container: string;
      readonly whole: WholePlan;
    }
  /**
   * The machine is off for `downMs`. Afterwards the next kubelet has other policies for CPUs and memory, and the state
   * files are removed, which upstream requires.
   */
  | { readonly do: 'changePolicies'; readonly downMs: number }
  /** An ephemeral container is added to a pod. */
  | { readonly do: 'apiDebug'; readonly name: string; readonly uid: string; readonly container: ContainerPlan }
  /**
   * The machine is short of memory or disk for `forMs`. With `unused`, the reason for the shortage is an unused image.
   */
  | { readonly do: 'pressure'; readonly of: Scarce; readonly unused: boolean; readonly forMs: number }
  /** For `forMs`, the mount of a disk fails or hangs. */
  | { readonly do: 'diskFault'; readonly disk: string; readonly fault: 'fail' | 'hang'; readonly forMs: number }
  /**
   * The machine's available memory or disk is below a soft threshold for `forMs`. The action has no effect if there is
   * no soft threshold.
   */
  | { readonly do: 'lowOn'; readonly of: Scarce; readonly forMs: number }
);

/** Returns the duration of an action's fault. */
export function durationMs(action: Action): number {
  const forMs = 'forMs' in action ? action.forMs : 0;
  return forMs + ('downMs' in action ? (action.downMs ?? 0) : 0);
}

/** Grace periods of soft eviction thresholds. */
export interface SoftThresholdsPlan {
  /** Time for which the threshold must be exceeded before a pod is evicted. */
  readonly graceSeconds: number;
  /** Maximum grace period of an evicted pod. A negative value means that the pod's own grace period applies. */
  readonly maxPodGraceSeconds: number;
}

/** Settings that do not change during a run. */
export interface NodePlan {
  /** First and maximum back-off of a crashing container. */
  readonly backOff: { readonly initialMs: number; readonly maxMs: number };
  /** Whether the runtime has container events (containerd 1.6 does not). */
  readonly events: boolean;
  /** Whether operations of the runtime take their typical time. */
  readonly latencies: boolean;
  /** Whether there is also a manifest URL as pod source. */
  readonly http: boolean;
  /** Time from the kubelet's start to the first response of the URL. */
  readonly httpDelayMs: number;
  /** Whether the node is part of a cluster with an API server. Default: false. */
  readonly cluster?: boolean;
  /** The node's DRA driver, on a node in a cluster. Default: none. */
  readonly claims?: ClaimsPlan;
  /** CPUs and memory of the machine; absent if no container gets exclusive CPUs or memory. Default: absent. */
  readonly numa?: NumaPlan;
  /** The node's CSI drivers and their volumes, on a node in a cluster. Default: none. */
  readonly csi?: CsiPlan;
  /** The node's device plugins. Default: none. */
  readonly devices?: readonly DevicePluginPlan[];
  /** Grace periods by which pods delay the machine's shutdown. Default: pods do not delay the shutdown. */
  readonly shutdown?: ShutdownPlan;
  /** The simulated resources of the node; absent if the node's resources are not simulated. */
  readonly resources?: {
    readonly cpuCount: number;
    /** Time for which a pressure condition stays after the pressure has ended. */
    readonly pressureTransitionMs: number;
    /** Maximum age of the stats. 0 means that the stats are always current. */
    readonly figuresEveryMs: number;
    /** Grace periods of soft thresholds. Default: there are no soft thresholds. */
    readonly soft?: SoftThresholdsPlan;
  };
}

/** A complete run of a simulation, as data. */
export interface Scenario {
  readonly seed: number;
  readonly node: NodePlan;
  readonly actions: readonly Action[];
  /**
   * Latest end of all faults. After the faults, the quiet period starts, in which the node must reach the desired
   * state.
   */
  readonly faultsEndMs: number;
  /** Duration of the quiet period. */
  readonly quietMs: number;
}
