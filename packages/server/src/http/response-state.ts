import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';

/**
 * Returns whether the response can no longer be sent. For HTTP/2, this is read from the stream, because the response
 * object does not have the state.
 */
export function isGone(response: ServerResponse | Http2ServerResponse): boolean {
  const { destroyed, closed } = 'stream' in response ? response.stream : response;
  return destroyed || closed;
}

/** Returns whether the whole response has been handed to the socket. */
export function isFinished(response: ServerResponse | Http2ServerResponse): boolean {
  return 'stream' in response ? response.stream.writableFinished : response.writableFinished;
}
