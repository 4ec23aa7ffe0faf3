/**
 * Data that the kubelet sends to the page. All times are milliseconds since the Unix epoch, of the node's clock. Texts
 * are cut to a maximum length; the page must treat them as untrusted.
 */

/** State of a container. */
export interface ContainerRow {
  readonly name: string;
  readonly kind: 'init' | 'sidecar' | 'main' | 'ephemeral';
  readonly image: string;
  readonly state: 'waiting' | 'running' | 'terminated' | 'unknown';
  /** Reason of the state: `CrashLoopBackOff`, `Completed`, `OOMKilled`. */
  readonly reason?: string;
  readonly message?: string;
  readonly ready: boolean;
  readonly restarts: number;
  /** Start of the state; absent if unknown. */
  readonly sinceMs?: number;
  readonly exitCode?: number;
  /** Whether an earlier instance of the container may have a log. */
  readonly hasPrevious: boolean;
}

/** A pod of the node. */
export interface PodRow {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** State as `kubectl get pods` shows it. */
  readonly status: string;
  /** Number of ready containers, and of all containers: `1/2`. */
  readonly ready: string;
  readonly isReady: boolean;
  readonly restarts: number;
  readonly startedAtMs?: number;
  /** First cause why the pod is not in the desired state; absent if nothing is wrong. */
  readonly why?: string;
  readonly ip?: string;
  /** Source of the pod: `file`, `http` or `api`. */
  readonly source: string;
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly containers: readonly ContainerRow[];
}

/** Changes of the node's pods. */
export interface PodsNews {
  /** Whether {@link changed} contains all pods, so that the page must forget all others. */
  readonly isAll: boolean;
  readonly changed: readonly PodRow[];
  /** UIDs of pods that the node no longer has. */
  readonly gone: readonly string[];
}

/** Usage of the node, a pod, or a file system; a value that is not known is absent. */
export interface UsageFigures {
  /** CPUs in use. */
  readonly cpus?: number;
  /** Working set, in bytes. */
  readonly memoryBytes?: number;
  /** Used bytes of the disk: the root file system of the node, or the pod's ephemeral storage. */
  readonly diskBytes?: number;
  /** Percent of the last 10 s in which some task waited for the resource (PSI `some avg10`). */
  readonly cpuPressure?: number;
  readonly memoryPressure?: number;
  readonly ioPressure?: number;
}

/** Measurement of the node and its pods. */
export interface UsageSample {
  readonly atMs: number;
  readonly node: UsageFigures & {
    readonly memoryCapacityBytes?: number;
    readonly diskCapacityBytes?: number;
    readonly imageBytes?: number;
  };
  /** Usage by the UID of the pod. */
  readonly pods: Readonly<Record<string, UsageFigures>>;
}

/** State of an eviction threshold. */
export interface ThresholdRow {
  /** Name of the eviction signal, for example `memory.available`. */
  readonly signal: string;
  /** Threshold as configured: `100Mi`, `10%`, `15% for 90s`. */
  readonly limit: string;
  /** Unit of the amounts. */
  readonly unit: 'bytes' | 'count';
  /** The threshold as an amount; absent until the capacity is known. */
  readonly limitAmount?: number;
  readonly available?: number;
  readonly capacity?: number;
  /** Amount that can be used until the threshold is crossed; negative if less than the threshold is available. */
  readonly distance?: number;
  readonly isMet: boolean;
}

/** Facts about the node. */
export interface NodeFacts {
  readonly name: string;
  readonly isReady: boolean;
  /** Conditions that are not as they should be, as `Type: message`. */
  readonly problems: readonly string[];
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  /** Number of CPUs; absent if unknown. */
  readonly cpus?: number;
  /** Names and values for a description list: versions, addresses, capacity. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly thresholds: readonly ThresholdRow[];
  /** Reason why there are no stats; absent if there are stats. */
  readonly statsProblem?: string;
}

/** A step of a pod's timeline. */
export interface StoryStep {
  readonly step: string;
  readonly target?: string;
  readonly startedAtMs: number;
  /** End of the step; absent while the step is in progress. */
  readonly endedAtMs?: number;
  readonly outcome?: string;
  readonly message?: string;
  readonly times?: number;
  readonly isEarlier?: true;
}

/** Explanation of one pod. */
export interface PodStory {
  readonly namespace: string;
  readonly name: string;
  /** Whether the node has the pod. */
  readonly isKnown: boolean;
  readonly causes: readonly string[];
  readonly waits: readonly { readonly what: string; readonly sinceMs?: number; readonly untilMs?: number }[];
  /** Names of the steps that follow those in progress. */
  readonly next: readonly string[];
  readonly steps: readonly StoryStep[];
  readonly events: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
    readonly count: number;
    readonly lastAtMs: number;
  }[];
}

/** Events of the stream, by name. */
export interface StreamEvents {
  /** Keep-alive. Sent if nothing else was sent for some time, so that the page notices a lost connection. */
  readonly beat: { readonly nowMs: number };
  readonly node: NodeFacts;
  readonly pods: PodsNews;
  readonly story: PodStory;
  readonly usage: UsageSample;
}
