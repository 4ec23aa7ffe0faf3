import { GrpcError } from '../errors.ts';
import { CANCEL, ENHANCE_YOUR_CALM, NO_ERROR, PROTOCOL_ERROR } from './frame.ts';
import { MessageReader } from './message-reader.ts';
import { responseHeaders } from './response-headers.ts';
import type { HeaderField } from './static-table.ts';
import { type CallStatus, statusOfHttp, statusOfReset, statusOfTrailers } from './status.ts';

/** grpc-go's errors for a response that is not exactly one message. */
const NONE = 'cardinality violation: received no response message from non-server-streaming RPC';
const ONE_TOO_MANY =
  'cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message';
/** Header blocks with a 1xx status that one response may have: the limit of Go's HTTP client (`max1xxResponses`). */
const MAX_INFORMATIONAL_BLOCKS = 5;

/** The client offers no compression. */
const COMPRESSED = 'the compression of the message is unknown or missing';

/** Result of a call: the message, or the status of the failure. */
export type Outcome<Res> = { readonly message: Res } | { readonly failure: CallStatus };

/** Reads one response to a unary call from the events of its stream. Does no I/O. */
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

  /** `undefined` while the response is incomplete. */
  get outcome(): Outcome<Res> | undefined {
    return this.#outcome;
  }

  /** Returns whether HTTP admits more data: after the final headers, and up to the length that they announce. */
  admits(bytes: number): boolean {
    if (this.#httpStatus === undefined) return false;
    return bytes === 0 || this.#contentLength === undefined || this.#receivedBytes + bytes <= this.#contentLength;
  }

  /** Whether the peer compressed a message although the client offers no compression. */
  get isCompressed(): boolean {
    return this.#isCompressed;
  }

  /**
   * Returns the error code with which the stream is to be reset, if the headers are malformed or too large.
   * @param fields `undefined` if they exceed the limits of `HpackDecoder.decode`
   */
  headers(fields: readonly HeaderField[] | undefined, isEnd: boolean): number | undefined {
    if (fields === undefined) return this.#refuse(ENHANCE_YOUR_CALM);
    const isTrailers = this.#httpStatus !== undefined;
    const read = responseHeaders(fields, isTrailers);
    if (read === undefined || (isTrailers && !isEnd)) return this.#refuse(PROTOCOL_ERROR);
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

  /** Returns the error code with which the stream is to be reset, if the data end the response too early. */
  data(bytes: Buffer, isEnd: boolean): number | undefined {
    this.#receivedBytes += bytes.length;
    this.#messages.push(bytes);
    // As in grpc-js, a message that is too large hides a problem of a message before it.
    if (this.#messages.excess !== undefined) this.#outcome = { failure: this.#tooLong(this.#messages.excess) };
    if (this.#outcome !== undefined) return CANCEL;
    if (!isEnd) return undefined;
    if (!this.#isLengthRight()) return this.#refuse(PROTOCOL_ERROR);
    this.reset(NO_ERROR);
    return undefined;
  }

  /** Ends the response by the peer's RST_STREAM, or, with `NO_ERROR`, by the end of the data. */
  reset(errorCode: number): void {
    const status = statusOfReset(errorCode);
    if (errorCode !== NO_ERROR) this.fail(status);
    else if (this.#httpStatus !== undefined && this.#httpStatus !== 200) this.fail(statusOfHttp(this.#httpStatus));
    else this.fail({ ...status, details: `${status.details} (Call ended without gRPC status)` });
  }

  /** Ends the response for a reason outside of it. */
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
