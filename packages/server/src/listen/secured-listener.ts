import { constants as cryptoConstants } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest } from 'node:http2';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { type Clock, checkOptions, untilAborted } from '@node-agent/async';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { ClientAuthorities } from '../access/client-ca-file.ts';
import { ServerError } from '../errors.ts';
import type { ExchangeHandlers } from '../http/exchange.ts';
import { keyOf, remoteAddressOf, socketOf } from '../http/request-socket.ts';
import { bind } from './bind.ts';
import { closeServer } from './close-server.ts';
import { ConnectionLedger } from './connection-ledger.ts';
import { ExchangeService, type Peer } from './exchange-service.ts';
import type { ListenAddress } from './http-listener.ts';
import { ShownCertificates } from './shown-certificates.ts';
import { trackConnections } from './track-connections.ts';

/** A serving certificate that may be replaced. The managers of `@node-agent/certificates` implement it. */
export interface ServingCertificate {
  /** Certificate and key in PEM. `undefined` while there is no certificate; then TLS handshakes fail. */
  readonly current: { readonly cert: string; readonly key: string } | undefined;
  /** Calls `listener` whenever the certificate changes. @returns a function that removes the listener */
  onChange(listener: () => void): () => void;
}

/** The components of `SecuredListener`. */
export interface SecuredListenerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly certificate: ServingCertificate;
  /** The authorities of client certificates. If absent, the server requests no client certificates. */
  readonly authorities?: ClientAuthorities;
}

/** Limits on clients. The defaults suit a node. */
export interface ServerLimits {
  /** The maximum number of connections. Default: 4096. Beyond the limit, new connections are refused. */
  readonly maxConnections?: number;
  /**
   * The maximum number of connections that have not yet sent an authorized request. Default: 512. Beyond the limit, the
   * oldest of these connections is closed.
   */
  readonly maxStrangers?: number;
  /**
   * The maximum size of a request's headers, which contain the commands of exec. Default: 1 MiB, as in Go. Over HTTP/2,
   * which carries no commands: 64 KiB.
   */
  readonly maxHeaderBytes?: number;
  /** How long a client may take for the handshake and for sending a request, in milliseconds. Default: 10 s. */
  readonly receiveMs?: number;
  /**
   * How long making an answer may take, and how long the client may take to receive it, in milliseconds. Default: 60 s.
   * Does not apply to streams.
   */
  readonly answerMs?: number;
  /** How long the client of a streamed answer may receive nothing, in milliseconds. Default: 4 hours. */
  readonly stallMs?: number;
}

/** How long a connection without a request is kept, in milliseconds, as in upstream. */
const IDLE_MS = 90_000;
/** How long streams have to end when the server stops, in milliseconds. */
const CLOSING_MS = 3000;
/**
 * How long a connection may be silent before the kernel probes whether the client is still there, in milliseconds. A
 * client that vanished is detected 10 s after the first probe, 150 s in all, as with Go's server. Without a probe, a
 * server with nothing to send (as on a followed log) would never notice that the client vanished.
 */
const KEEP_ALIVE_MS = 140_000;
/**
 * The limit of the headers of one HTTP/2 stream, in bytes. All streams of a connection may use the limit at the same
 * time.
 */
const MAX_HTTP2_HEADER_BYTES = 64 * 1024;
/** The limit of the request heads of all strangers together, in bytes. */
const MAX_STRANGERS_HEAD_BYTES = 32 * 1024 * 1024;
/** Maximum number of open streams of one HTTP/2 connection, as in Go's server. */
const MAX_CONCURRENT_STREAMS = 250;
/**
 * How many streams of an HTTP/2 connection a client may reset at once. A client may thus cancel all its open streams
 * without being disconnected.
 */
const STREAM_RESET_BURST = MAX_CONCURRENT_STREAMS;
/** How many further streams of an HTTP/2 connection a client may reset per second. */
const STREAM_RESET_RATE = 50;

/**
 * Serves HTTP/2 and HTTP/1.1 over TLS, chosen by ALPN; protocol upgrades use HTTP/1.1. The serving certificate and the
 * client authorities may change at any time; open connections stay open. TLS sessions are not resumed, so that each new
 * connection is verified against the current authorities.
 */
export class SecuredListener {
  readonly #components: WithDefaults<SecuredListenerComponents>;
  readonly #tls: SecureContextOptions;
  readonly #limits: Required<ServerLimits>;
  readonly #ledger: ConnectionLedger;
  readonly #shown: ShownCertificates;
  readonly #service: ExchangeService;

  /** @throws OptionsError naming the invalid limit */
  constructor(components: SecuredListenerComponents, tls: SecureContextOptions, limits: ServerLimits = {}) {
    this.#components = withDefaults(components);
    this.#tls = tls;
    this.#limits = {
      maxConnections: 4096,
      maxStrangers: 512,
      maxHeaderBytes: 1024 * 1024,
      receiveMs: 10_000,
      answerMs: 60_000,
      stallMs: 14_400_000,
      ...limits,
    };
    checkOptions('SecuredServer limits', this.#limits, {
      maxConnections: 'limit',
      maxStrangers: 'limit',
      maxHeaderBytes: 'limit',
      receiveMs: 'positive',
      answerMs: 'positive',
      stallMs: 'positive',
    });
    this.#ledger = new ConnectionLedger(
      this.#limits.maxStrangers,
      Math.max(MAX_STRANGERS_HEAD_BYTES, this.#limits.maxHeaderBytes),
    );
    this.#shown = new ShownCertificates(this.#components.clock, this.#components.authorities);
    const { clock, logger } = this.#components;
    const { answerMs, stallMs } = this.#limits;
    this.#service = new ExchangeService(
      { clock, logger, ledger: this.#ledger, peerOf: (request) => this.#peerOf(request) },
      { answerMs, stallMs, closingMs: CLOSING_MS },
    );
  }

  /**
   * Listens until `signal` is aborted. Resolves when all connections are closed.
   * @throws ServerError `ListenFailed`, `InvalidOptions`
   */
  async run(
    listen: ListenAddress,
    handlers: ExchangeHandlers,
    onListening: (got: ListenAddress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) return;
    const { clock, certificate, authorities } = this.#components;
    const server = this.#server();
    trackConnections(server, this.#ledger, this.#components, { idleMs: IDLE_MS, lingerMs: CLOSING_MS });
    this.#service.listen(server, handlers, signal);
    const unlink = [certificate.onChange(() => this.#renew(server)), authorities?.onChange(() => this.#renew(server))];
    try {
      await bind(server, listen);
      // A later error, such as a failed accept, concerns a single connection and not the whole server.
      server.on('error', (err) =>
        this.#components.logger.warn({ err, port: listen.port }, 'HTTPS server had an error'),
      );
      const got = server.address();
      if (got !== null && typeof got === 'object') onListening({ address: got.address, port: got.port });
      await untilAborted(signal);
      this.#service.abort(signal.reason);
      await closeServer(server, this.#ledger, clock, CLOSING_MS);
    } finally {
      for (const end of unlink) end?.();
    }
  }

  #server(): Http2SecureServer {
    const { maxConnections, maxHeaderBytes, receiveMs } = this.#limits;
    expectUsable(this.#components.certificate, this.#tls);
    const http1 = {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: receiveMs,
      requestTimeout: receiveMs,
      keepAliveTimeout: IDLE_MS,
      connectionsCheckingInterval: receiveMs / 4,
    };
    const server = createSecureServer({
      ...this.#secureContext(),
      ...http1,
      allowHTTP1: true,
      // HTTP/1.1 upgrades need half-open connections: one end of a stream may finish before the other.
      allowHalfOpen: true,
      // Streams send small chunks. With Nagle's algorithm, each small write would wait for the acknowledgement of the
      // previous write.
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      handshakeTimeout: receiveMs,
      requestCert: this.#components.authorities !== undefined,
      rejectUnauthorized: false,
      streamResetBurst: STREAM_RESET_BURST,
      streamResetRate: STREAM_RESET_RATE,
      settings: {
        maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
        maxHeaderListSize: Math.min(maxHeaderBytes, MAX_HTTP2_HEADER_BYTES),
        enablePush: false,
      },
    });
    server.maxConnections = maxConnections;
    return server;
  }

  #secureContext(): SecureContextOptions {
    const { certificate, authorities } = this.#components;
    return {
      ...this.#tls,
      ...certificate.current,
      ...(authorities && { ca: authorities.pem }),
      // Disables renegotiation: a TLS 1.2 client could force endless handshakes on one connection.
      secureOptions: cryptoConstants.SSL_OP_NO_TICKET | cryptoConstants.SSL_OP_NO_RENEGOTIATION,
    };
  }

  #renew(server: Http2SecureServer): void {
    try {
      server.setSecureContext(this.#secureContext());
    } catch (err) {
      this.#components.logger.error(
        { err },
        'Failed to load the new serving certificate; the previous one stays in use',
      );
    }
  }

  #peerOf(request: IncomingMessage | Http2ServerRequest): Peer | undefined {
    const socket = socketOf(request);
    if (socket === undefined) return undefined;
    return { key: keyOf(socket), certificate: this.#shown.of(socket), remoteAddress: remoteAddressOf(socket) };
  }
}

/**
 * Checks the serving certificate. @throws ServerError `InvalidOptions`, because OpenSSL's own message does not name the
 * certificate
 */
function expectUsable({ current }: ServingCertificate, settings: SecureContextOptions): void {
  try {
    createSecureContext({ ...settings, ...current });
  } catch (err) {
    throw new ServerError(
      'InvalidOptions',
      `the serving certificate does not work with its key: ${errorText(err)}`,
      err,
    );
  }
}
