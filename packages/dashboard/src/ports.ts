import type { NodeSummary } from '@node-agent/contracts';
import type { Pod } from '@node-agent/pod-spec';
import type { StoryStep } from './wire.ts';

/** The part of a v1 Node that the page shows. */
export interface DashboardNodeObject {
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: Readonly<Record<string, unknown>>;
  };
}

/** The part of a pod's explanation that the page shows (`PodExplanation` of `@node-agent/kubelet-core`). */
export interface DashboardExplanation {
  readonly causes?: readonly string[];
  readonly waitingFor: readonly { readonly what: string; readonly sinceMs?: number; readonly untilMs?: number }[];
  readonly next: readonly { readonly step: string; readonly target?: string }[];
  readonly steps: readonly StoryStep[];
  readonly events?: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
    readonly count: number;
    readonly lastAtMs: number;
  }[];
}

/** Options of {@link DashboardNode.readLog}. */
export interface DashboardLogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number;
}

/** The node that the page shows. All methods return the current state. */
export interface DashboardNode {
  readonly nodeName: string;
  /** Returns the pods of the node, each with its newest status. */
  pods(): readonly Pod[];
  /** Returns why a pod is in its state and what happened to it; `undefined` if the node does not have the pod. */
  explain(namespace: string, name: string): DashboardExplanation | undefined;
  /** Returns the problems of the kubelet's own health checks. */
  problems(): readonly string[];
  /** Returns the eviction thresholds (`EvictionExplanation` of `@node-agent/eviction`); `undefined` if there are none. */
  eviction(): unknown;
  /** Returns the v1 Node of the node. */
  node(signal: AbortSignal): Promise<DashboardNodeObject>;
  /** Returns the usage of the node and its pods. @throws if the usage is unavailable */
  stats(signal: AbortSignal): Promise<NodeSummary>;
  /**
   * Yields the output of a container. If the reader stops, all resources are released.
   * @param containerId as in a status: `containerd://4c01...`
   */
  readLog(
    containerId: string,
    options: DashboardLogOptions,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly data: Uint8Array }>;
}
