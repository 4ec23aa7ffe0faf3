import type { Clock } from '@node-agent/async';
import type { HttpGetRequest, HttpGetResult } from '@node-agent/pod-net';
import type { Container, LifecycleHandler, Pod } from '@node-agent/pod-spec';
import type { EventRecorder, Metrics } from '@node-agent/telemetry';

/** Components of {@link LifecycleHooks}. */
export interface LifecycleHooksComponents {
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  readonly recorder?: EventRecorder;
  /** Runs a command in a container until it exits or `signal` is aborted. `timeoutMs` is 0, which means no timeout. */
  readonly exec: (
    containerId: string,
    command: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<{ readonly exitCode: number; readonly stdout: Uint8Array; readonly stderr: Uint8Array }>;
  /**
   * Returns the pod's current addresses from the runtime, primary first. Must also work for a pod that only the runtime
   * knows.
   */
  readonly podIps: (pod: Pod, signal: AbortSignal) => Promise<readonly string[]>;
  /** Sends an HTTP request. Default: over the machine's network. */
  readonly http?: (request: HttpGetRequest, signal: AbortSignal) => Promise<HttpGetResult>;
}

/** One hook of one container. */
export interface HookTarget {
  readonly pod: Pod;
  /** Name and ports of the container, which are also known for a container that only the runtime knows. */
  readonly container: Pick<Container, 'name' | 'ports'>;
  /** ID of the container in the runtime. */
  readonly containerId: string;
  readonly handler: LifecycleHandler;
}
