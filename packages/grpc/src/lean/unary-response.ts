import { GrpcError } from '../errors.ts';
import { CANCEL, ENHANCE_YOUR_CALM, NO_ERROR, PROTOCOL_ERROR } from './frame.ts';
import { MessageReader } from './message-reader.ts';
import { responseHeaders } from './response-headers.ts';
import type { HeaderField } from './static-table.ts';
import { type CallStatus, statusOfHttp, statusOfReset, statusOfTrailers } from './status.ts';

/** grpc-go's error messages for a response that does not consist of exactly one message. */
const NONE = 'cardinality violation: received no response message from non-server-streaming RPC';
const ONE_TOO_MANY =
  'cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message';
/** Maximum number of header blocks with a 1xx status in one response, as in Go's HTTP client (`max1xxResponses`). */
const MAX_INFORMATIONAL_BLOCKS = 5;

/** Error message for a compressed response. The client offers no compression, so the peer must not compress. */
const COMPRESSED = 'the compression of the message is unknown or missing';

/** Result of a call: the message, or the status with which the call failed. */
export type Outcome<Res> = { readonly message: Res } | { readonly failure: CallStatus };

/** Reads the response of a unary call from the events of its stream. The class does no I/O. */
export class UnaryResponse<Res> {
  readonly #decode: (bytes: Uint8Array) => Res;
  readonly #maxMessageBytes: number;
  readonly #messages: MessageReader;
  #httpStatus: number | undefined;
  #contentLength: number | undefined;
  #receivedBytes = 0;
  #informationalBlocks = 0;
  #isCompressed = false;
  #first: { readonly message: Res } | undefined;
  #outcome: Outcome<Res> | undefined;

  constructor(decode: (bytes: Uint8Array) => Res, maxMessageBytes: number) {
    this.#decode = decode;
    this.#maxMessageBytes = maxMessageBytes;
    this.#messages = new MessageReader((isCompressed, bytes) => this.#onMessage(isCompressed, bytes), maxMessageBytes);
  }

  /** Result of the call. `undefined` while the response is incomplete. */
  get outcome(): Outcome<Res> | undefined {
    return this.#outcome;
  }

  /**
   * Reports whether HTTP allows the peer to send more data: after the final headers, and up to the length in
   * `content-length`.
   */
  admits(bytes: number): boolean {
    if (this.#httpStatus === undefined) return false;
    return bytes === 0 || this.#contentLength === undefined || this.#receivedBytes + bytes <= this.#contentLength;
  }

  /** Reports whether the peer compressed a message although the client offers no compression. */
  get isCompressed(): boolean {
    return this.#isCompressed;
  }

  /**
   * Processes a header block. Returns the error code with which the stream must be reset, if the headers are malformed
   * or too large.
   */
  headers(fields: readonly HeaderField[], isEnd: boolean): number | undefined {
    const isTrailers = this.#httpStatus !== undefined;
    const read = responseHeaders(fields, isTrailers);
    if (read === 'too large') return this.#refuse(ENHANCE_YOUR_CALM);
    if (read === 'malformed' || (isTrailers && !isEnd)) return this.#refuse(PROTOCOL_ERROR);
    const { httpStatus, contentLength } = read;
    if (httpStatus !== undefined && httpStatus < 200) {
      if (isEnd || contentLength !== undefined) return this.#refuse(PROTOCOL_ERROR);
      this.#informationalBlocks++;
      return this.#informationalBlocks > MAX_INFORMATIONAL_BLOCKS ? this.#refuse(ENHANCE_YOUR_CALM) : undefined;
    }
    if (contentLength !== undefined && this.#contentLength !== undefined) return this.#refuse(PROTOCOL_ERROR);
    this.#contentLength ??= contentLength;
    if (httpStatus !== undefined) this.#httpStatus = httpStatus;
    if (httpStatus === 204 || httpStatus === 304) {
      if (httpStatus === 204 && (contentLength ?? 0) !== 0) return this.#refuse(PROTOCOL_ERROR);
      this.#contentLength = 0;
    }
    if (!isEnd) return undefined;
    if (!this.#isLengthRight()) return this.#refuse(PROTOCOL_ERROR);
    this.#end(statusOfTrailers(read.fields, this.#httpStatus ?? 0));
    return undefined;
  }

  /**
   * Processes data. Returns the error code with which the stream must be reset, if the response has failed or the data
   * ends too early.
   */
  data(bytes: Buffer, isEnd: boolean): number | undefined {
    this.#receivedBytes += bytes.length;
    this.#messages.push(bytes);
    // As in grpc-js, the error of a message that is too large replaces an earlier error of the response.
    if (this.#messages.excess !== undefined) this.#outcome = { failure: this.#tooLong(this.#messages.excess) };
    if (this.#outcome !== undefined) return CANCEL;
    if (!isEnd) return undefined;
    if (!this.#isLengthRight()) return this.#refuse(PROTOCOL_ERROR);
    this.reset(NO_ERROR);
    return undefined;
  }

  /** Ends the response because the peer reset the stream. With `NO_ERROR`: because the data ended without trailers. */
  reset(errorCode: number): void {
    const status = statusOfReset(errorCode);
    if (errorCode !== NO_ERROR) this.fail(status);
    else if (this.#httpStatus !== undefined && this.#httpStatus !== 200) this.fail(statusOfHttp(this.#httpStatus));
    else this.fail({ ...status, details: `${status.details} (Call ended without gRPC status)` });
  }

  /** Ends the response with a failure that is not part of the response, such as a lost connection. */
  fail(failure: CallStatus): void {
    this.#outcome ??= { failure };
  }

  #onMessage(isCompressed: boolean, bytes: Buffer): void {
    if (this.#outcome !== undefined) return;
    this.#isCompressed ||= isCompressed;
    if (this.#first !== undefined) this.fail({ code: 'INTERNAL', details: ONE_TOO_MANY });
    else if (isCompressed) this.fail({ code: 'INTERNAL', details: COMPRESSED });
    else {
      try {
        this.#first = { message: this.#decode(bytes) };
      } catch (error) {
        const details = `Response message parsing error: ${GrpcError.from(error).details}`;
        this.fail({ code: 'INTERNAL', details });
      }
    }
  }

  #tooLong(length: number): CallStatus {
    if (this.#httpStatus !== undefined && this.#httpStatus !== 200) return statusOfHttp(this.#httpStatus);
    const details = `Received message larger than max (${length} vs ${this.#maxMessageBytes})`;
    return { code: 'RESOURCE_EXHAUSTED', details };
  }

  #isLengthRight(): boolean {
    return this.#contentLength === undefined || this.#contentLength === this.#receivedBytes;
  }

  #refuse(errorCode: number): number {
    this.fail(statusOfReset(errorCode));
    return errorCode;
  }

  #end(status: CallStatus): void {
    if (status.code !== undefined) this.fail(status);
    else this.#outcome ??= this.#first ?? { failure: { code: 'INTERNAL', details: NONE } };
  }
}
