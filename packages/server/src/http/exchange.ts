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
   * Marks the connection as one of an authorized client, so that it does not count against the limit of untrusted
   * connections.
   */
  trust(): void;
  /** Exempts the answer from the deadline. */
  takeTime(): void;
  /** Reads the whole body. Resolves to `undefined` if it is longer than `limitBytes`. */
  body(limitBytes: number): Promise<Buffer | undefined>;
}

/** An answer with a streamed body. */
export interface StreamedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Read only as fast as the client receives it. */
  readonly stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export type Answer = Reply | BytesReply | StreamedReply;

/** A request that asks for a protocol upgrade. */
export interface UpgradeRequest extends Exchange {
  /** Names and values in turn; repeated headers are kept. */
  readonly rawHeaders: readonly string[];
  /** The connection. Only the request's head and {@link rest} have been read from it. */
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
