import type { Duplex } from 'node:stream';
import type { AttachRequest, ExecRequest } from '@node-agent/cri-client';
import type { RuntimeState } from './state.ts';
import type { StreamKind, StreamRequest } from './stream-requests.ts';
import { type CommandStreams, streamAttach, streamExec, streamPort } from './streams.ts';

/** What a runtime's streaming server asks it: {@link FakeStreamingServer} puts a network before it. */
export class RuntimeStreams {
  readonly #state: RuntimeState;
  readonly #onCrash = new Set<() => void>();

  constructor(state: RuntimeState) {
    this.#state = state;
  }

  /** Where the URLs of Exec, Attach and PortForward point. */
  get baseUrl(): string {
    return this.#state.streamingUrl;
  }

  set baseUrl(url: string) {
    this.#state.streamingUrl = url;
  }

  /** How long what takes, and what ends a wait, is the runtime's clock's. */
  get clock(): RuntimeState['clock'] {
    return this.#state.clock;
  }

  /** What was asked for by a URL with this token: once, and within a minute of the call. */
  consume(kind: StreamKind, token: string): StreamRequest | undefined {
    return this.#state.streamRequests.consume(kind, token);
  }

  /** @returns the exit code; @throws CriError where the command cannot be run */
  exec(request: ExecRequest, streams: CommandStreams): Promise<number> {
    return streamExec(this.#state, request, streams);
  }

  /** @throws CriError where the container does not run */
  attach(request: AttachRequest, streams: CommandStreams): Promise<void> {
    return streamAttach(this.#state, request, streams);
  }

  /** @throws CriError where nothing serves the port */
  portForward(podSandboxId: string, port: number, stream: Duplex): Promise<void> {
    return streamPort(this.#state, { podSandboxId, port }, stream);
  }

  /** Calls `listener` when the runtime's process dies, until the function that it returns is called. */
  onCrash(listener: () => void): () => void {
    this.#onCrash.add(listener);
    return () => void this.#onCrash.delete(listener);
  }

  /** The runtime's process has died. */
  crash(): void {
    this.#state.streamRequests.clear();
    for (const listener of [...this.#onCrash]) listener();
  }
}
