import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { type Clock, seededRandom, systemClock } from '@node-agent/async';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import type { AccessReviewSpec, AccessReviewStatus, Reviewer, TokenReviewStatus } from '../src/access/reviews.ts';
import {
  Authentication,
  type Authorization,
  type ClientAuthorities,
  SecuredServer,
  type SecuredServerComponents,
  type SecuredServerOptions,
  WebhookAuthorization,
} from '../src/index.ts';
import type { KeyPair, Pki } from './pki.ts';

/** A fake API server that knows some tokens and permissions, and records which reviews it was asked for. */
export class FakeReviewer implements Reviewer {
  readonly tokens: Map<string, TokenReviewStatus> = new Map();
  /** Permissions in the form `user verb subresource`. The verb, or both verb and subresource, may be `*`. */
  readonly rights: Set<string> = new Set();
  readonly asked: string[] = [];
  failure: Error | undefined;

  async reviewToken(token: string, signal: AbortSignal): Promise<TokenReviewStatus> {
    await this.#answering(`token ${token}`, signal);
    return this.tokens.get(token) ?? { authenticated: false };
  }

  async reviewAccess(spec: AccessReviewSpec, signal: AbortSignal): Promise<AccessReviewStatus> {
    const { verb, subresource } = spec.resourceAttributes;
    await this.#answering(`${spec.user} ${verb} ${subresource}`, signal);
    const allowed = [`${spec.user} ${verb} ${subresource}`, `${spec.user} * ${subresource}`, `${spec.user} * *`];
    return { allowed: allowed.some((right) => this.rights.has(right)) };
  }

  async #answering(question: string, signal: AbortSignal): Promise<void> {
    this.asked.push(question);
    signal.throwIfAborted();
    if (this.failure) throw this.failure;
  }
}

/** A changing value that notifies its listeners. */
export class Changing<T> {
  current: T;
  readonly #listeners = new Set<() => void>();

  constructor(current: T) {
    this.current = current;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  change(value: T): void {
    this.current = value;
    for (const listener of this.#listeners) listener();
  }
}

/** Returns client authorities that change whenever `pki` changes. */
export function authoritiesOf(pki: Changing<{ pem: string; fingerprints: ReadonlySet<string> }>): ClientAuthorities {
  return {
    get pem() {
      return pki.current.pem;
    },
    get fingerprints() {
      return pki.current.fingerprints;
    },
    onChange: (listener) => pki.onChange(listener),
  };
}

export interface Started {
  readonly port: number;
  /** Aborted when the server stops. */
  readonly signal: AbortSignal;
  end(): Promise<void>;
}

/** The server options that a test overrides. */
export interface ServerParts extends Partial<SecuredServerComponents> {
  readonly reviewer?: Reviewer;
  readonly anonymous?: boolean;
}

/** Starts a secured server on a free port. By default, its reviewer refuses every client. */
export async function startSecured(
  serving: KeyPair,
  { reviewer = new FakeReviewer(), anonymous = false, ...parts }: ServerParts,
  options: SecuredServerOptions = {},
): Promise<Started> {
  const controller = new AbortController();
  const clock: Clock = parts.clock ?? systemClock;
  const random = seededRandom(1);
  const { authorities } = parts;
  const authorization: Authorization = new WebhookAuthorization({ clock, random, reviewer }, { nodeName: 'n1' });
  let ended: Promise<void> = Promise.resolve();
  const port = await new Promise<number>((resolve, reject) => {
    const server = new SecuredServer(
      {
        clock,
        logger: silentLogger,
        metrics: noMetrics,
        certificate: new Changing<KeyPair | undefined>(serving),
        authentication: new Authentication(
          { clock, random, reviewer, ...(authorities && { authorities }) },
          { anonymous },
        ),
        authorization,
        endpoints: {},
        ...parts,
      },
      { address: '127.0.0.1', port: 0, onListening: (got) => resolve(got.port), ...options },
    );
    ended = server.start(controller.signal);
    ended.catch(reject);
  });
  return {
    port,
    signal: controller.signal,
    async end() {
      controller.abort(new Error('the test ends'));
      await ended;
    },
  };
}

/** The client's identity and protocol. */
export interface Client {
  readonly pair?: KeyPair;
  readonly token?: string;
  readonly agent?: Agent;
}

export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Sends one HTTP/1.1 request. */
export function ask(
  port: number,
  path: string,
  { pair, token, agent }: Client = {},
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Got> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        ...{ host: '127.0.0.1', port, path, method, rejectUnauthorized: false, agent: agent ?? false, ...pair },
        headers: { ...authorization, ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

/** An agent with a kept-alive connection and a client certificate. */
export function keptConnection(pair?: KeyPair): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false, ...pair });
}

/** Sends one HTTP/2 request. */
export async function askHttp2(port: number, path: string, { pair, token }: Client = {}): Promise<Got> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...pair });
  try {
    return await new Promise((resolve, reject) => {
      session.on('error', reject);
      const stream = session.request({ ':path': path, ...(token && { authorization: `Bearer ${token}` }) });
      let head: Record<string, unknown> = {};
      let body = '';
      stream.on('response', (headers) => {
        head = headers;
      });
      stream.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      stream.on('error', reject).on('end', () => resolve({ status: Number(head[':status']), headers: head, body }));
      stream.end();
    });
  } finally {
    session.close();
  }
}

/** Opens a raw TLS connection to a server. */
export function rawConnection(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => {
      socket.off('error', reject);
      socket.on('error', () => {});
      resolve(socket);
    });
    socket.on('error', reject);
  });
}

/** Reads all data until the peer closes. */
export function allOf(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(text));
  });
}

/** Returns the certificates of CAs in the form of `ClientAuthorities`. */
export function believing(...all: readonly { readonly ca: string; readonly fingerprint: string }[]): {
  pem: string;
  fingerprints: ReadonlySet<string>;
} {
  return { pem: all.map(({ ca }) => ca).join(''), fingerprints: new Set(all.map(({ fingerprint }) => fingerprint)) };
}

export type { KeyPair, Pki };
