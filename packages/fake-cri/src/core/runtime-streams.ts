import type { Duplex } from 'node:stream';
import type { Clock } from '@node-agent/async';
import type { AttachRequest, ExecRequest } from '@node-agent/cri-client';
import type { RuntimeState } from './state.ts';
import type { StreamKind, StreamRequest } from './stream-requests.ts';
import { type CommandStreams, streamAttach, streamExec, streamPort } from './streams.ts';

/** What a runtime's streaming server asks it: `FakeStreamingServer` puts a network before it. */
export interface RuntimeStreams {
  /** Where the URLs of Exec, Attach and PortForward point. */
  baseUrl: string;
  /** How long what takes, and what ends a wait, is the runtime's clock's. */
  readonly clock: Clock;
  /** What was asked for by a URL with this token: once, and within a minute of the call. */
  consume(kind: StreamKind, token: string): StreamRequest | undefined;
  /** @returns the exit code; @throws CriError where the command cannot be run */
  exec(request: ExecRequest, streams: CommandStreams): Promise<number>;
  /** @throws CriError where the container does not run */
  attach(request: AttachRequest, streams: CommandStreams): Promise<void>;
  /** @throws CriError where nothing serves the port */
  portForward(podSandboxId: string, port: number, stream: Duplex): Promise<void>;
  /** Calls `listener` when the runtime's process dies, until the function that it returns is called. */
  onCrash(listener: () => void): () => void;
  /** The runtime's process has died. */
  crash(): void;
}

/** The streams of one runtime. */
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
