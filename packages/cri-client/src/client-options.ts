import type { Clock } from '@node-agent/async';
import type { Logger, Metrics, Tracer } from '@node-agent/telemetry';
import type { TraceContext } from './trace-context.ts';

/** Components of a `CriClient`. All are optional. */
export interface CriClientComponents {
  /** Clock for deadlines. Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /**
   * Makes a span of each RPC, and sends it with the RPC, so that the spans of the runtime are its children. Default: no
   * tracing.
   */
  readonly tracer?: Tracer;
  /** Returns the trace that a call belongs to; called once per RPC. Has no effect if `tracer` is present. */
  readonly traceContext?: () => TraceContext | undefined;
}

export interface CriClientOptions {
  /**
   * Endpoint of the runtime: `unix:///run/containerd/containerd.sock`, `tcp://host:port`, or a bare path, which is
   * deprecated.
   */
  readonly endpoint: string;
  /**
   * Deadline of most calls, in milliseconds. Default: 2 minutes.
   * RunPodSandbox has twice this deadline. StopContainer and ExecSync add the timeout of their request. PullImage,
   * GetContainerEvents and an ExecSync without a timeout have no deadline.
   */
  readonly timeoutMs?: number;
  /**
   * Whether lists are read over the streaming RPCs if the runtime has them (KEP-5825). A streamed list may exceed the
   * limit of 16 MiB for one message. The list of a single pod is streamed only if its plain response is too large.
   * Default: true.
   */
  readonly streamLists?: boolean;
  /**
   * Determines which calls wait for the runtime, up to their deadline, while the endpoint accepts no connection: calls
   * before the first connection, all calls, or no calls. A call that does not wait fails immediately with
   * `UNAVAILABLE`. With each value the client reconnects automatically, with a back-off of 100 ms to 3 s. Default:
   * `first-connection`.
   */
  readonly waitForRuntime?: 'first-connection' | 'always' | 'never';
  /**
   * Transport of unary calls. `lean` is an HTTP/2 client of `@node-agent/grpc` that takes a fraction of the CPU time of
   * `@grpc/grpc-js`; it needs a `unix://` endpoint. Streams always use `@grpc/grpc-js`. If the runtime sends something
   * that `lean` does not support, all later calls use `@grpc/grpc-js`, too. With `lean`, lists are streamed only if the
   * plain response is too large. Default: `grpc-js`.
   */
  readonly transport?: 'grpc-js' | 'lean';
}
