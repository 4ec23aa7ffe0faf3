export { SpdyConnection, type SpdyConnectionOptions } from './connection.ts';
export { SpdyError, type SpdyErrorCode } from './errors.ts';
export type { SpdyHeaders } from './header-block.ts';
export type { SpdyStream } from './stream.ts';
