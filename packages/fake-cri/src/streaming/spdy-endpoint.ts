import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@node-agent/async';
import { SpdyConnection, type SpdyStream } from '@node-agent/spdy';
import type { RuntimeStreams } from '../core/runtime-streams.ts';
import { STREAM_CREATION_MS, streamHeaders, tellsExitCode, tellsSize } from './protocols.ts';
import { type CommandRequest, serveCommand } from './served-command.ts';
import { serveForward } from './served-forward.ts';

/** A connection that was upgraded to SPDY/3.1. */
export interface SpdyUpgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly protocol: string;
}

/** Serves exec or attach. The client opens one SPDY stream for each requested stream, in any order. */
export async function serveCommandBySpdy(
  runtime: RuntimeStreams,
  asked: CommandRequest,
  { socket, head, protocol }: SpdyUpgrade,
): Promise<void> {
  const { stdin, stdout, stderr, tty } = asked.request;
  const expected = [
    'error',
    stdin && 'stdin',
    stdout && 'stdout',
    stderr && 'stderr',
    tty && tellsSize(protocol) && 'resize',
  ];
  const missing = new Set(expected.filter((type) => type !== false));
  const streams = new Map<string, SpdyStream>();
  const complete = Promise.withResolvers<boolean>();
  const onStream = (stream: SpdyStream): boolean => {
    const type = stream.headers[streamHeaders.type] ?? '';
    if (!missing.delete(type)) return false;
    streams.set(type, stream);
    if (missing.size === 0) complete.resolve(true);
    return true;
  };
  const connection = new SpdyConnection(socket, { role: 'server', onStream, head });
  const timer = runtime.clock.setTimer(STREAM_CREATION_MS, () => complete.resolve(false));
  void connection.closed.then(() => complete.resolve(false));
  const isComplete = await complete.promise;
  timer.cancel();
  const error = streams.get('error');
  if (isComplete && error !== undefined) {
    await serveCommand(runtime, asked, {
      stdin: streams.get('stdin'),
      stdout: streams.get('stdout'),
      stderr: streams.get('stderr'),
      resize: streams.get('resize'),
      error,
      tellsExitCode: tellsExitCode(protocol),
      gone: connection.closed,
    });
  }
  connection.close();
}

/** Serves port-forward. For each forwarded connection the client opens an error stream and a data stream. */
export async function serveForwardsBySpdy(
  runtime: RuntimeStreams,
  podSandboxId: string,
  { socket, head }: SpdyUpgrade,
): Promise<void> {
  const pairs = new Pairs(runtime.clock, (pair) => void serveForward(runtime, podSandboxId, pair));
  const onStream = (stream: SpdyStream): boolean => pairs.add(stream);
  const connection = new SpdyConnection(socket, { role: 'server', onStream, head });
  await connection.closed;
  pairs.clear();
}

interface Pair {
  readonly data?: SpdyStream;
  readonly error?: SpdyStream;
  readonly timer: Timer;
}

/** Matches the error stream and the data stream of each forwarded connection. */
class Pairs {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #onPair: (pair: { readonly port: number; readonly data: SpdyStream; readonly error: SpdyStream }) => void;
  readonly #pairs = new Map<string, Pair>();

  constructor(
    clock: Pick<Clock, 'setTimer'>,
    onPair: (pair: { readonly port: number; readonly data: SpdyStream; readonly error: SpdyStream }) => void,
  ) {
    this.#clock = clock;
    this.#onPair = onPair;
  }

  /** Adds a stream to its pair. @returns whether the stream is a valid stream of a forwarded connection */
  add(stream: SpdyStream): boolean {
    const { headers } = stream;
    const port = /^\d{1,5}$/.test(headers[streamHeaders.port] ?? '') ? Number(headers[streamHeaders.port]) : 0;
    const type = headers[streamHeaders.type];
    if (port < 1 || port > 65_535 || (type !== 'data' && type !== 'error')) return false;
    // A client that sends no request id opens the error stream immediately before the data stream.
    const id = headers[streamHeaders.requestId] || String(type === 'error' ? stream.id : stream.id - 2);
    const before = this.#pairs.get(id);
    if (before?.[type] !== undefined) {
      before.error?.write(`error processing stream for request ${id}: ${type} stream already assigned`);
      return true;
    }
    const timer = before?.timer ?? this.#clock.setTimer(STREAM_CREATION_MS, () => this.#expire(id));
    const pair: Pair = { ...before, [type]: stream, timer };
    if (pair.data === undefined || pair.error === undefined) {
      this.#pairs.set(id, pair);
      return true;
    }
    this.#forget(id);
    this.#onPair({ port, data: pair.data, error: pair.error });
    return true;
  }

  clear(): void {
    for (const id of [...this.#pairs.keys()]) this.#forget(id);
  }

  #expire(id: string): void {
    this.#pairs.get(id)?.error?.end(`(request=${id}) timed out waiting for streams`);
    this.#pairs.get(id)?.data?.destroy();
    this.#forget(id);
  }

  #forget(id: string): void {
    this.#pairs.get(id)?.timer.cancel();
    this.#pairs.delete(id);
  }
}
