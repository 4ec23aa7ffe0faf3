import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ClientCertificate } from '../access/client-certificate.ts';
import type { BytesReply, Reply } from './reply.ts';

/** A request over any version of HTTP. */
export interface Exchange {
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /**
   * The client certificate of the TLS handshake. `undefined` if the client sent none, or the server did not request
   * one.
   */
  readonly certificate: ClientCertificate | undefined;
  readonly remoteAddress: string;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
  /**
   * Marks the connection as one of an authorized client, so that the connection does not count against the limit of
   * connections without an authorized request.
   */
  trust(): void;
  /** Removes the deadline for making the answer, for requests that may take long. */
  takeTime(): void;
  /** Reads the whole body. Resolves to `undefined` if the body is longer than `limitBytes`. */
  body(limitBytes: number): Promise<Buffer | undefined>;
}

/** An answer with a streamed body. */
export interface StreamedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body. The server reads the stream only as fast as the client receives the data. */
  readonly stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export type Answer = Reply | BytesReply | StreamedReply;

/** A request that asks for a protocol upgrade. */
export interface UpgradeRequest extends Exchange {
  /** Names and values of the headers in turn. Repeated headers are not merged. */
  readonly rawHeaders: readonly string[];
  /** The connection below HTTP. The server has read only the request's head and {@link rest} from the connection. */
  readonly connection: Duplex;
  readonly rest: Buffer;
}

/** The callbacks of a listener. */
export interface ExchangeHandlers {
  answer(exchange: Exchange): Promise<Answer>;
  /**
   * Takes over the connection and resolves when the connection is done, or resolves with a reply that is sent before
   * the connection is closed.
   */
  upgrade(request: UpgradeRequest): Promise<Reply | BytesReply | undefined>;
}
