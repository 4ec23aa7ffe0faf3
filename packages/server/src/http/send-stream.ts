import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { Clock } from '@node-agent/async';
import type { StreamedReply } from './exchange.ts';
import { isFinished, isGone } from './response-state.ts';

interface Sending {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** How long the client may take without receiving any of the buffered data, in milliseconds. */
  readonly stallMs: number;
}

/**
 * Sends a streamed body as fast as the client receives it. Resolves when the client has received everything or has
 * disconnected. An error of the stream, or a client that receives nothing for too long, breaks off the response.
 */
export async function sendStream(
  stream: StreamedReply['stream'],
  response: ServerResponse | Http2ServerResponse,
  sending: Sending,
): Promise<void> {
  try {
    for await (const chunk of stream) {
      if (isGone(response)) return;
      if (chunk.length > 0 && !write(response, chunk)) await taken(response, 'drain', sending);
      if (isGone(response)) return;
    }
    response.end();
    if (!isFinished(response)) await taken(response, 'finish', sending);
  } catch {
    response.destroy();
  }
}

function write(response: ServerResponse | Http2ServerResponse, chunk: Uint8Array): boolean {
  return 'stream' in response ? response.write(chunk) : response.write(chunk);
}

function taken(
  response: ServerResponse | Http2ServerResponse,
  event: 'drain' | 'finish',
  { clock, stallMs }: Sending,
): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(stallMs, () => response.destroy());
    const done = (): void => {
      timer.cancel();
      response.off(event, done);
      response.off('close', done);
      resolve();
    };
    response.on(event, done);
    response.on('close', done);
    if (isGone(response)) done();
  });
}
