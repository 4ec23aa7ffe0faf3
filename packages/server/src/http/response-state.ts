import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';

/** Whether nobody gets an answer any more. What HTTP/2 has in place of a response of HTTP/1.1 does not know that itself: its stream does. */
export function isGone(response: ServerResponse | Http2ServerResponse): boolean {
  const { destroyed, closed } = 'stream' in response ? response.stream : response;
  return destroyed || closed;
}

/** Whether all of an answer has been handed on. */
export function isFinished(response: ServerResponse | Http2ServerResponse): boolean {
  return 'stream' in response ? response.stream.writableFinished : response.writableFinished;
}
