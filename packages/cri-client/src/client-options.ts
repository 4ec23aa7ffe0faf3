import type { Clock } from '@node-agent/async';
import type { Logger, Metrics } from '@node-agent/telemetry';
import type { TraceContext } from './trace-context.ts';

/** What a `CriClient` works with; each has a default. */
export interface CriClientComponents {
  /** Deadlines run on it. The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** The trace that a call belongs to, asked for at each call. */
  readonly traceContext?: () => TraceContext | undefined;
}

export interface CriClientOptions {
  /** `unix:///run/containerd/containerd.sock`, `tcp://host:port`, or a bare path, which is deprecated. */
  readonly endpoint: string;
  /**
   * How long most calls may take, in milliseconds; 2 minutes where absent. RunPodSandbox has twice that; StopContainer
   * and ExecSync their own timeout besides; PullImage, GetContainerEvents and an ExecSync without a timeout have none.
   */
  readonly timeoutMs?: number;
  /**
   * Lists come over the streaming RPCs where the runtime has them (KEP-5825), so that they may be longer than one
   * message of 16 MiB; those of one pod only where its answer is. True where absent.
   */
  readonly streamLists?: boolean;
  /**
   * Which calls wait for the runtime, up to their deadline, where nobody listens at the endpoint: those before the first
   * connection (where absent), all, or none. A call that does not wait fails at once with `UNAVAILABLE`. In each case
   * the client connects again by itself, with a back-off of 100 ms to 3 s.
   */
  readonly waitForRuntime?: 'first-connection' | 'always' | 'never';
}
