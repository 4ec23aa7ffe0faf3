import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Duplex } from 'node:stream';
import { goQuote } from './go-quote.ts';
import type { BodyLimit, Exchange } from './http-response.ts';
import { type RequestFields, requestFields, type SentRequest } from './request-head.ts';
import { KeptBytes } from './response-body.ts';

/**
 * Maximum size of a response head in bytes. The limit is lower than for HTTP/1.1, because HPACK encodes a large head in
 * few bytes.
 */
const MAX_HEAD_BYTES = 64 * 1024;
const MAX_HEADER_FIELDS = 1024;
/** Maximum number of informational (1xx) responses. */
const MAX_INFORMATIONAL = 5;
/** Memory limit of an HTTP/2 session in MB. 1 is the smallest value that Node accepts. */
const MAX_SESSION_MEGABYTES = 1;
/** HTTP/1.1 headers that concern the connection and therefore are not sent over HTTP/2. */
const NOT_SENT = new Set(['Connection', 'Proxy-Connection', 'Upgrade', 'Keep-Alive', 'Te', 'Http2-Settings']);

/** Names of HTTP/2 error codes by number (RFC 9113, 7). */
const CODES = new Map(
  Object.entries(constants)
    .filter(
      ([name]) => name.startsWith('NGHTTP2_') && !/_(?:ERR|FLAG|HCAT|NV|SESSION|SETTINGS|STREAM|DEFAULT)_/.test(name),
    )
    .map(([name, code]) => [code as number, name.slice('NGHTTP2_'.length)]),
);

/** Sends one GET over a connection on which HTTP/2 was negotiated, and reads the response. */
export class Http2Exchange {
  readonly #request: SentRequest;
  readonly #limitOf: BodyLimit;
  readonly #settle: (outcome: Exchange) => void;
  #answer: { readonly status: number; readonly location: string | undefined; readonly body: KeptBytes } | undefined;

  constructor(request: SentRequest, limitOf: BodyLimit, settle: (outcome: Exchange) => void) {
    this.#request = request;
    this.#limitOf = limitOf;
    this.#settle = settle;
  }

  /**
   * Sends the request on the stream. The callee of `settle` must reset the connection, which also ends the HTTP/2
   * session.
   */
  begin(stream: Duplex): void {
    const fields = requestFields(this.#request);
    const refused = 'fault' in fields ? fields.fault : refusedFor(fields);
    if (refused === undefined) this.#ask(stream, fields as RequestFields);
    else this.#settle({ kind: 'fault', message: refused });
  }

  #ask(stream: Duplex, fields: RequestFields): void {
    const session = connect('https://pod', {
      createConnection: () => stream,
      maxHeaderListPairs: MAX_HEADER_FIELDS,
      maxSessionMemory: MAX_SESSION_MEGABYTES,
      settings: { enablePush: false, maxHeaderListSize: MAX_HEAD_BYTES },
    });
    session.on('error', (error) => this.#end(error.message));
    session.on('goaway', (code) => code !== constants.NGHTTP2_NO_ERROR && this.#end(goAway(code)));
    session.on('close', () => this.#end('unexpected EOF'));
    stream.on('close', () => session.destroy());
    const clientStream = requested(session, this.#request, fields);
    this.#read(clientStream, () => {
      if (stream.destroyed) return 'unexpected EOF';
      return clientStream.rstCode === 0 ? undefined : reset(clientStream.rstCode);
    });
  }

  /**
   * Returns the outcome at the end of the response or of the connection.
   * @param words the error text if the connection broke
   */
  end(words?: string): Exchange {
    return this.#answered(words) ?? { kind: 'fault', message: words ?? 'unexpected EOF' };
  }

  /** Returns the outcome of a response that is incomplete at the deadline. */
  expire(): Exchange {
    const answer = this.#answered(
      'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    );
    const message = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    return answer ?? { kind: 'fault', message };
  }

  #read(stream: ClientHttp2Stream, broken: () => string | undefined): void {
    stream.on('response', (headers) => {
      const { ':status': status = 0, location, 'content-length': length } = headers;
      const isKnown = length !== undefined && /^\d{1,15}$/.test(length);
      const place = location === undefined ? undefined : Buffer.from(location).toString('latin1');
      const limit = this.#limitOf(status, place, isKnown ? Number(length) : undefined);
      const body = new KeptBytes(limit);
      this.#answer = { status, location: place, body };
      if (limit === 0) this.#end();
      // The listener must be added inside the response handler. If headers and data arrive together, Node would
      // otherwise emit the data first.
      stream.on('data', (bytes: Buffer) => {
        body.add(bytes, 0, bytes.length);
        if (body.isFull) this.#end();
      });
    });
    let informational = 0;
    stream.on('headers', () => {
      if (++informational > MAX_INFORMATIONAL) this.#end('http2: too many 1xx informational responses');
    });
    stream.on('end', () => this.#end(broken()));
    stream.on('error', (error) => this.#end(broken() ?? error.message));
    stream.on('close', () => this.#end(broken() ?? 'unexpected EOF'));
  }

  #end(words?: string): void {
    this.#settle(this.end(words));
  }

  #answered(bodyFault: string | undefined): Exchange | undefined {
    if (this.#answer === undefined) return undefined;
    const { status, location, body } = this.#answer;
    return { kind: 'answer', status, location, body: body.text(), ...(bodyFault !== undefined && { bodyFault }) };
  }
}

/**
 * Returns Go's error text if the action has a header that HTTP/2 forbids (`checkConnHeaders` in
 * golang.org/x/net/http2).
 */
function refusedFor({ host, others }: RequestFields): string | undefined {
  if (host === '') return 'http2: invalid Host header';
  const valuesOf = (wanted: string): readonly string[] =>
    others.filter(([name]) => name === wanted).map(([, value]) => value);
  const [upgrade = ''] = valuesOf('Upgrade');
  if (upgrade !== '' && upgrade !== 'chunked') return invalid('Upgrade', valuesOf('Upgrade'));
  const connection = valuesOf('Connection');
  if (connection.length > 1 || !/^(?:|close|keep-alive)$/i.test(connection[0] ?? '')) {
    return invalid('Connection', connection);
  }
  return undefined;
}

function invalid(name: string, values: readonly string[]): string {
  return `http2: invalid ${name} request header: [${values.map(goQuote).join(' ')}]`;
}

function requested(session: ClientHttp2Session, request: SentRequest, fields: RequestFields): ClientHttp2Stream {
  const values = new Map<string, string[]>();
  for (const [name, value] of fields.others) {
    if (NOT_SENT.has(name)) continue;
    const known = values.get(name.toLowerCase());
    if (known === undefined) values.set(name.toLowerCase(), [value]);
    else known.push(value);
  }
  const own = {
    ':authority': fields.host,
    ':method': 'GET',
    ':path': request.target,
    ':scheme': 'https',
  };
  try {
    return session.request({ ...own, ...Object.fromEntries(values) }, { endStream: true });
  } catch {
    // For some headers, Node throws if there are several values. Then only the first value of each header is sent.
    const firsts = [...values].map(([name, [first]]) => [name, first]);
    return session.request({ ...own, ...Object.fromEntries(firsts) }, { endStream: true });
  }
}

function reset(code: number): string {
  return `stream error: stream ID 1; ${CODES.get(code) ?? `unknown error code 0x${code.toString(16)}`}; received from peer`;
}

function goAway(code: number): string {
  const name = CODES.get(code) ?? `unknown error code 0x${code.toString(16)}`;
  return `http2: server sent GOAWAY and closed the connection; LastStreamID=0, ErrCode=${name}, debug=""`;
}
