/** What the other end of a SPDY connection said is not SPDY/3.1, or the stream was reset. */
export class SpdyError extends Error {
  override readonly name = 'SpdyError';
}
