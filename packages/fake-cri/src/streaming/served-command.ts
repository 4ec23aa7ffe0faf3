import type { Duplex, Readable, Writable } from 'node:stream';
import { CriError } from '@node-agent/cri-client';
import type { RuntimeStreams } from '../core/runtime-streams.ts';
import type { StreamRequest } from '../core/stream-requests.ts';
import { exitStatus, failedStatus, type StreamStatus, statusText } from './stream-status.ts';
import { terminalSizes } from './terminal-sizes.ts';

/** What is run for a client. */
export type CommandRequest = Exclude<StreamRequest, { kind: 'portforward' }>;

/** A client's streams, whatever carries them. */
export interface CommandWire {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Duplex | undefined;
  readonly stderr?: Duplex | undefined;
  readonly resize?: Readable | undefined;
  readonly error: Duplex;
  readonly tellsExitCode: boolean;
  /** Resolves when the client's connection is gone. */
  readonly gone: Promise<void>;
}

/** Runs what was asked for to its end and tells how it ended; resolves when the client has been told, or has gone. */
export async function serveCommand(runtime: RuntimeStreams, asked: CommandRequest, wire: CommandWire): Promise<void> {
  const { stdin, stdout, stderr, gone } = wire;
  // What a client says on an output is nothing, but that it has gone.
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

/** Ends a stream; resolves when all that was written has been taken, or nobody will take it. */
export function ended(stream: Writable): Promise<void> {
  return new Promise((resolve) => void stream.end(() => resolve()));
}
