import type { Duplex } from 'node:stream';
import type { Clock } from '@node-agent/async';
import type { AttachRequest, ExecRequest } from '@node-agent/cri-client';
import type { RuntimeState } from './state.ts';
import type { StreamKind, StreamRequest } from './stream-requests.ts';
import { type CommandStreams, streamAttach, streamExec, streamPort } from './streams.ts';

/** The runtime's side of streaming. `FakeStreamingServer` serves it over the network. */
export interface RuntimeStreams {
  /** Base of the URLs that Exec, Attach and PortForward return. */
  baseUrl: string;
  /** The runtime's clock, which times all delays and timeouts of streams. */
  readonly clock: Clock;
  /**
   * Returns the request of a URL with this token. A token is valid once and for one minute after the call that created
   * it.
   */
  consume(kind: StreamKind, token: string): StreamRequest | undefined;
  /**
   * Runs a command in a container.
   * @returns the exit code
   * @throws CriError if the command cannot be run
   */
  exec(request: ExecRequest, streams: CommandStreams): Promise<number>;
  /** Attaches to a running container. @throws CriError if the container is not running */
  attach(request: AttachRequest, streams: CommandStreams): Promise<void>;
  /** Connects a stream with a port of a pod. @throws CriError if no process serves the port */
  portForward(podSandboxId: string, port: number, stream: Duplex): Promise<void>;
  /**
   * Calls `listener` when the runtime's process dies.
   * @returns a function that removes the listener
   */
  onCrash(listener: () => void): () => void;
  /** Ends all streams, because the runtime's process has died. */
  crash(): void;
}

/** Returns the streams of a runtime. */
export function runtimeStreams(state: RuntimeState): RuntimeStreams {
  const crashed = new Set<() => void>();
  return {
    get baseUrl() {
      return state.streamingUrl;
    },
    set baseUrl(url) {
      state.streamingUrl = url;
    },
    clock: state.clock,
    consume: (kind, token) => state.streamRequests.consume(kind, token),
    exec: (request, streams) => streamExec(state, request, streams),
    attach: (request, streams) => streamAttach(state, request, streams),
    portForward: (podSandboxId, port, stream) => streamPort(state, { podSandboxId, port }, stream),
    onCrash(listener) {
      crashed.add(listener);
      return () => void crashed.delete(listener);
    },
    crash() {
      state.streamRequests.clear();
      for (const listener of [...crashed]) listener();
    },
  };
}
