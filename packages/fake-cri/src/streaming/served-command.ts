import type { Duplex, Readable, Writable } from 'node:stream';
import { CriError } from '@node-agent/cri-client';
import type { RuntimeStreams } from '../core/runtime-streams.ts';
import type { StreamRequest } from '../core/stream-requests.ts';
import { exitStatus, failedStatus, type StreamStatus, statusText } from './stream-status.ts';
import { terminalSizes } from './terminal-sizes.ts';

/** An exec or attach request. */
export type CommandRequest = Exclude<StreamRequest, { kind: 'portforward' }>;

/** A client's streams, over SPDY or WebSocket. */
export interface CommandWire {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Duplex | undefined;
  readonly stderr?: Duplex | undefined;
  readonly resize?: Readable | undefined;
  readonly error: Duplex;
  readonly tellsExitCode: boolean;
  /** Resolves when the client's connection is closed. */
  readonly gone: Promise<void>;
}

/**
 * Runs the requested command and sends its outcome to the client. Resolves when the outcome has been sent or the client
 * has disconnected.
 */
export async function serveCommand(runtime: RuntimeStreams, asked: CommandRequest, wire: CommandWire): Promise<void> {
  const { stdin, stdout, stderr, gone } = wire;
  // Input on output streams is discarded. Reading it is needed to detect that the client has disconnected.
  for (const output of [stdout, stderr, wire.error]) output?.resume();
  const streams = { stdin, stdout, stderr, gone, onResize: terminalSizes(wire.resize) };
  let status: StreamStatus;
  try {
    if (asked.kind === 'exec') status = exitStatus(asked.request.cmd, await runtime.exec(asked.request, streams));
    else {
      await runtime.attach(asked.request, streams);
      status = { status: 'Success' };
    }
  } catch (error) {
    const doing = asked.kind === 'exec' ? 'error executing command in container' : 'error attaching to container';
    status = failedStatus(`${doing}: ${CriError.from(error).details}`);
  }
  const text = statusText(status, wire.tellsExitCode);
  if (text !== '') wire.error.write(text);
  await Promise.all([stdout, stderr, wire.error].map((output) => output && ended(output)));
}

/** Ends a stream. Resolves when all written data has been flushed, or when it cannot be flushed. */
export function ended(stream: Writable): Promise<void> {
  return new Promise((resolve) => void stream.end(() => resolve()));
}
