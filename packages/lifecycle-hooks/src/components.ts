import type { Clock } from '@node-agent/async';
import type { HttpGetRequest, HttpGetResult } from '@node-agent/pod-net';
import type { Container, LifecycleHandler, Pod } from '@node-agent/pod-spec';
import type { EventRecorder, Metrics } from '@node-agent/telemetry';

/** What {@link LifecycleHooks} are made of. */
export interface LifecycleHooksComponents {
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  readonly recorder?: EventRecorder;
  /** Runs a command in a container until it ends by itself, or `signal` is aborted. `timeoutMs` is 0: there is none. */
  readonly exec: (
    containerId: string,
    command: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<{ readonly exitCode: number; readonly stdout: Uint8Array; readonly stderr: Uint8Array }>;
  /** The pod's addresses as the runtime has them now, primary first: of a pod too that nothing else is known of any more. */
  readonly podIps: (pod: Pod, signal: AbortSignal) => Promise<readonly string[]>;
  /** Over the machine's network where absent. */
  readonly http?: (request: HttpGetRequest, signal: AbortSignal) => Promise<HttpGetResult>;
}

/** One hook of one container. */
export interface HookTarget {
  readonly pod: Pod;
  /** Of a container that only the runtime knows: its name and its ports. */
  readonly container: Pick<Container, 'name' | 'ports'>;
  /** The runtime's id. */
  readonly containerId: string;
  readonly handler: LifecycleHandler;
}
