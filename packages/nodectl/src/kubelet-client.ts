import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { errorText } from '@node-agent/telemetry';
import { CtlError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import type { Target } from './options.ts';

/** The size limit of a response that is not a stream. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** A connection that the kubelet has upgraded, and the bytes that came with the response. */
export interface Upgraded {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly protocol: string;
}

/** Requests to one kubelet: over its admin socket, or over TLS with a client certificate. */
export class KubeletClient {
  readonly #target: Target;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;

  /** @param signal aborts all requests */
  constructor(target: Target, { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal }) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
  }

  /** Whether the kubelet runs on this machine and is reached with the rights of root. */
  get isLocal(): boolean {
    return 'socket' in this.#target;
  }

  /** Returns the response to a GET request as text. The whole response must arrive in time. @throws CtlError */
  async text(path: string): Promise<string> {
    return await this.#get(path, (response) => bodyOf(response, MAX_BODY_BYTES));
  }

  /** Returns the JSON object of a response. @throws CtlError */
  async json(path: string): Promise<object> {
    const body = await this.text(path);
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch (error) {
      throw new CtlError(`the answer to ${path} is not JSON`, exitCodes.failed, { cause: error });
    }
    if (typeof value !== 'object' || value === null) throw new CtlError(`the answer to ${path} is not an object`);
    return value;
  }

  /**
   * Returns the body of a response while it arrives. Only the head of the response must arrive in time. @throws
   * CtlError
   */
  async stream(path: string): Promise<AsyncIterable<Uint8Array>> {
    return this.#chunksOf(path, await this.#get(path, async (response) => response));
  }

  /**
   * Requests SPDY streams.
   * @param protocols subprotocols, the preferred one first
   * @throws CtlError
   */
  async upgrade(path: string, protocols: readonly string[]): Promise<Upgraded> {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': [...protocols],
    };
    const asked = await this.#request(path, { method: 'POST', headers });
    return await this.#settled(path, (resolve, reject) => {
      asked.on('upgrade', (response, socket, head) => {
        socket.on('error', () => {});
        resolve({ socket, head, protocol: String(response.headers['x-stream-protocol-version'] ?? '') });
      });
      asked.on('response', (response) => {
        refusal(path, response).then(reject, reject);
      });
      asked.on('error', reject).end();
      return () => asked.destroy();
    });
  }

  /**
   * Sends a GET request.
   * @param read converts a response with status 200; the time of the request ends when `read` has settled
   */
  async #get<T>(path: string, read: (response: IncomingMessage) => Promise<T>): Promise<T> {
    const asked = await this.#request(path, { method: 'GET' });
    return await this.#settled(path, (resolve, reject) => {
      asked.on('response', (response) => {
        if (response.statusCode === 200) read(response).then(resolve, reject);
        else refusal(path, response).then(reject, reject);
      });
      asked.on('error', reject).end();
      return () => asked.destroy();
    });
  }

  async *#chunksOf(path: string, response: IncomingMessage): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of response) yield chunk;
    } catch (error) {
      throw this.#failure(`the connection was lost during the answer to ${pathOnly(path)}`, error);
    }
  }

  async #request(path: string, own: RequestOptions) {
    const target = this.#target;
    const common = { path, agent: false, signal: this.#signal, ...own };
    if ('socket' in target) return plainRequest({ ...common, socketPath: target.socket });
    const { server, certificateFile, keyFile, authorityFile, serverName, skipVerify } = target;
    const [cert, key, ca] = await Promise.all([certificateFile, keyFile, authorityFile].map(readGiven));
    return secureRequest({
      ...common,
      host: server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: server.port === '' ? 443 : Number(server.port),
      rejectUnauthorized: !skipVerify,
      ...(cert && { cert }),
      ...(key && { key }),
      ...(ca && { ca }),
      ...(serverName && { servername: serverName }),
    });
  }

  /** Waits for the result of a request, for at most the request's timeout. */
  async #settled<T>(
    path: string,
    ask: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
  ): Promise<T> {
    const timeoutMs = this.#timeoutMs;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let isLate = false;
    const cancel = ask(resolve, reject);
    const timer = setTimeout(() => {
      isLate = true;
      cancel();
      reject(new Error('late'));
    }, timeoutMs);
    try {
      return await promise;
    } catch (error) {
      throw this.#failure(
        isLate ? `no complete answer to ${path} in ${timeoutMs / 1000} s` : connectionProblem(error),
        error,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns the error of a connection; an interruption and a `CtlError` are returned unchanged. */
  #failure(why: string, error: unknown): unknown {
    if (this.#signal.aborted || error instanceof CtlError) return error;
    const message = `cannot reach the kubelet at ${this.#place()}: ${why}`;
    return new CtlError(message, exitCodes.unreachable, { cause: error });
  }

  #place(): string {
    return 'socket' in this.#target ? this.#target.socket : this.#target.server.origin;
  }
}

async function readGiven(file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file);
  } catch (error) {
    throw new CtlError(`read ${file}: ${errorText(error)}`, exitCodes.failed, { cause: error });
  }
}

/** Returns what to do about a usual problem of a connection; the text of the error for any other problem. */
export function connectionProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
      return 'there is no such socket; start the kubelet with --admin-socket, or name its socket with --socket';
    case 'EACCES':
      return 'permission denied; only root may open the socket';
    case 'ECONNREFUSED':
      return 'connection refused; the kubelet does not run';
    case 'ECONNRESET':
      return 'the connection was lost before the end of the answer';
    default:
      return errorText(error);
  }
}

/** Converts an error response. The texts of a kubelet are passed on. */
async function refusal(path: string, response: IncomingMessage): Promise<CtlError> {
  const status = response.statusCode ?? 0;
  const said = (await bodyOf(response, MAX_ERROR_BYTES)).trim();
  if (status === 401) {
    const message = 'the kubelet does not accept the client certificate: its clientCAFile must contain the authority';
    return new CtlError(message, exitCodes.denied);
  }
  if (status === 403) return new CtlError(`the kubelet denies the request: ${said}`, exitCodes.denied);
  if (status === 404) {
    const isPath = said === '404 page not found';
    return new CtlError(isPath ? `the kubelet does not serve ${pathOnly(path)}` : said, exitCodes.notFound);
  }
  return new CtlError(said || `the kubelet answered ${pathOnly(path)} with ${status}`);
}

function pathOnly(path: string): string {
  return path.replace(/\?.*$/s, '');
}

async function bodyOf(body: AsyncIterable<Uint8Array>, limitBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > limitBytes) throw new CtlError(`the answer is larger than ${limitBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
