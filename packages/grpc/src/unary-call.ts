import type { Client, Metadata } from '@grpc/grpc-js';

const OK = 0;
const CANCELLED = 1;
const INTERNAL = 13;

/** grpc-go's error messages for a response that does not consist of exactly one message. */
const NONE = 'cardinality violation: received no response message from non-server-streaming RPC';
const ONE_TOO_MANY =
  'cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message';

/** The input of {@link startUnaryCall}. */
export interface UnaryCallParts<Res> {
  readonly path: string;
  readonly request: Buffer;
  readonly metadata: Metadata;
  readonly decode: (bytes: Uint8Array) => Res;
}

/** A call in progress. */
export interface UnaryCall<Res> {
  /** Resolves with the response. @throws an error with the `code` and `details` of a gRPC status */
  readonly answer: Promise<Res>;
  cancel(): void;
}

/**
 * Starts a call with one request and one response, directly on the channel of grpc-js. `makeUnaryRequest` of grpc-js
 * would create an emitter, two layers of interceptors and an error (for its stack) per call, which cost CPU time and
 * have no use here.
 */
export function startUnaryCall<Res>(
  client: Client,
  { path, request, metadata, decode }: UnaryCallParts<Res>,
): UnaryCall<Res> {
  const { promise, resolve, reject } = Promise.withResolvers<Res>();
  const call = client.getChannel().createCall(path, Number.POSITIVE_INFINITY, undefined, null, undefined);
  let answer: { readonly message: Res } | undefined;
  let fault: Error | undefined;
  const refuse = (code: number, details: string): void => {
    fault ??= statusError(code, details);
    call.cancelWithStatus(code, details);
  };
  call.start(metadata, {
    onReceiveMetadata: () => {},
    onReceiveMessage: (bytes: Buffer) => {
      if (answer !== undefined) return refuse(INTERNAL, ONE_TOO_MANY);
      // Reading continues after the message, because otherwise grpc-js would deliver neither the end of the call nor a
      // second message.
      call.startRead();
      try {
        answer = { message: decode(bytes) };
      } catch (error) {
        refuse(INTERNAL, `Response message parsing error: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    onReceiveStatus: ({ code, details }) => {
      if (fault !== undefined) reject(fault);
      else if (code !== OK) reject(statusError(code, details));
      else if (answer === undefined) reject(statusError(INTERNAL, NONE));
      else resolve(answer.message);
    },
  });
  call.startRead();
  call.sendMessageWithContext({}, request);
  call.halfClose();
  return { answer: promise, cancel: () => call.cancelWithStatus(CANCELLED, 'Cancelled on client') };
}

function statusError(code: number, details: string): Error {
  return Object.assign(new Error(details), { code, details });
}
