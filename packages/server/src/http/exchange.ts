import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ClientCertificate } from '../access/client-certificate.ts';
import type { BytesReply, Reply } from './reply.ts';

/** A request, whichever version of HTTP it came by. */
export interface Exchange {
  readonly method: string;
  /** Path and query as they came. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** What the client has shown in the TLS handshake; `undefined` where it showed none, or none was asked for. */
  readonly certificate: ClientCertificate | undefined;
  readonly remoteAddress: string;
  /** Aborted when nobody waits for the answer any more, or the server ends. */
  readonly signal: AbortSignal;
  /** The connection is of somebody who may use this server: it does not count as a stranger's any more. */
  trust(): void;
  /** The answer may take as long as it does. */
  takeTime(): void;
  /** The whole body; `undefined` where it is longer than `limitBytes`. */
  body(limitBytes: number): Promise<Buffer | undefined>;
}

/** An answer whose body comes by and by. */
export interface StreamedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** No more of it is asked for than the client takes. */
  readonly stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export type Answer = Reply | BytesReply | StreamedReply;

/** A connection whose client asks for another protocol. */
export interface UpgradeRequest extends Exchange {
  /** Names and values in turn, each as often as it came. */
  readonly rawHeaders: readonly string[];
  /** The connection itself, of which nothing was read after the head of the request but {@link rest}. */
  readonly connection: Duplex;
  readonly rest: Buffer;
}

/** What a listener is there for. */
export interface ExchangeHandlers {
  answer(exchange: Exchange): Promise<Answer>;
  /** Takes the connection over and is done when it is done with it, or says what to answer before it is closed. */
  upgrade(request: UpgradeRequest): Promise<Reply | BytesReply | undefined>;
}
