import type { Duplex } from 'node:stream';
import { CriError } from '@node-agent/cri-client';
import type { RuntimeStreams } from '../core/runtime-streams.ts';
import { ended } from './served-command.ts';

/** The two streams of one forwarded connection. */
export interface ForwardWire {
  readonly port: number;
  readonly data: Duplex;
  readonly error: Duplex;
}

/**
 * Connects a client with a port. If this fails, sends the reason to the client. Resolves when the connection is over.
 */
export async function serveForward(
  runtime: RuntimeStreams,
  podSandboxId: string,
  { port, data, error }: ForwardWire,
): Promise<void> {
  error.resume();
  try {
    await runtime.portForward(podSandboxId, port, data);
  } catch (failure) {
    const words = CriError.from(failure).details;
    error.write(`error forwarding port ${port} to pod ${podSandboxId}, uid : ${words}`);
  }
  await Promise.all([ended(data), ended(error)]);
  data.destroy();
  error.destroy();
}
