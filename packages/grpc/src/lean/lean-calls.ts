import { GrpcError } from '../errors.ts';
import type { UnaryCall } from '../unary-call.ts';
import { literal, requestHead } from './hpack-encoder.ts';
import { type BackOffLimits, LeanChannel, type LeanChannelComponents } from './lean-channel.ts';
import { type CallStatus, grpcTimeout } from './status.ts';
import { UnaryResponse } from './unary-response.ts';
import { UnaryStream } from './unary-stream.ts';

/** Parts of one call. */
export interface LeanCallParts<Res> {
  readonly path: string;
  readonly request: Buffer;
  readonly decode: (bytes: Uint8Array) => Res;
  readonly metadata: Readonly<Record<string, string>>;
  /** Default: no deadline at the peer. */
  readonly timeoutMs: number | undefined;
  readonly waitForReady: boolean;
}

/** Options of {@link LeanCalls}. */
export interface LeanCallsOptions {
  readonly socketPath: string;
  readonly maxMessageBytes: number;
  readonly backOff: BackOffLimits;
}

const USER_AGENT = 'node-agent-grpc';
const PREFIX_BYTES = 5;
const CANCELLED: CallStatus = { code: 'CANCELLED', details: 'Cancelled on client' };

/**
 * Makes unary calls over HTTP/2 of this package's own, for a quarter of the CPU time that grpc-js takes. It offers no
 * compression, needs a unix socket, and has no streams.
 */
export class LeanCalls {
  readonly #channel: LeanChannel;
  readonly #onUnexpected: (reason: Error) => void;
  readonly #maxMessageBytes: number;
  /** Encoded request headers by RPC path. Bounded, because a caller has a fixed set of RPCs. */
  readonly #heads = new Map<string, Buffer>();
  /** Newest `grpc-timeout`: most calls have the same timeout. */
  #timeout: { readonly ms: number; readonly field: Buffer } | undefined;

  constructor(components: LeanChannelComponents, { socketPath, maxMessageBytes, backOff }: LeanCallsOptions) {
    this.#channel = new LeanChannel(components, socketPath, backOff);
    this.#onUnexpected = components.onUnexpected;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Starts a call. @throws Error if a name or value of the metadata is not legal */
  start<Res>({ path, request, decode, metadata, timeoutMs, waitForReady }: LeanCallParts<Res>): UnaryCall<Res> {
    const { promise, resolve, reject } = Promise.withResolvers<Res>();
    const response = new UnaryResponse(decode, this.#maxMessageBytes);
    const onOutcome = (): void => {
      const { outcome } = response;
      if (outcome !== undefined && 'message' in outcome) resolve(outcome.message);
      else reject(errorOf(outcome?.failure ?? CANCELLED));
      if (response.isCompressed) this.#onUnexpected(new Error('the peer compressed a message'));
    };
    const stream = new UnaryStream({
      head: this.#head(path, timeoutMs, metadata),
      body: framed(request),
      response,
      onOutcome,
    });
    this.#channel.start(stream, waitForReady);
    return { answer: promise, cancel: () => this.#channel.cancel(stream, CANCELLED) };
  }

  /** Ends the calls in progress, and closes the connection. */
  close(): void {
    this.#channel.close(CANCELLED);
  }

  #head(path: string, timeoutMs: number | undefined, metadata: Readonly<Record<string, string>>): Buffer {
    let head = this.#heads.get(path);
    if (head === undefined) {
      head = requestHead(path, USER_AGENT);
      this.#heads.set(path, head);
    }
    const fields = [head];
    if (timeoutMs !== undefined) fields.push(this.#timeoutField(timeoutMs));
    for (const name in metadata) fields.push(metadataField(name, metadata[name] ?? ''));
    return fields.length === 1 ? head : Buffer.concat(fields);
  }

  #timeoutField(ms: number): Buffer {
    if (this.#timeout?.ms !== ms) this.#timeout = { ms, field: literal('grpc-timeout', grpcTimeout(ms)) };
    return this.#timeout.field;
  }
}

function metadataField(name: string, value: string): Buffer {
  if (!/^[0-9a-z_.-]+$/.test(name)) throw new Error(`Metadata key "${name}" contains illegal characters`);
  if (!/^[ -~]*$/.test(value)) throw new Error(`Metadata string value "${value}" contains illegal characters`);
  return literal(name, value);
}

/** Puts gRPC's prefix before a message: not compressed, and its length. */
function framed(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  message.copy(bytes, PREFIX_BYTES);
  return bytes;
}

function errorOf({ code = 'UNKNOWN', details }: CallStatus): GrpcError {
  return new GrpcError({ code, details });
}
