import { createServer, type Server, type Socket } from 'node:net';
import { GrpcClient, GrpcError } from '../../src/index.ts';
import { CONTINUATION, END_HEADERS, END_STREAM, HEADERS, PREFACE } from '../../src/lean/frame.ts';
import { FrameReader } from '../../src/lean/frame-reader.ts';
import { chanceOf } from './chance.ts';
import { echo } from './echo-rpc.ts';
import { byFrame, hostileScript, recut, type Script } from './hostile-script.ts';

/** Outcome of one call: `ok TEXT`, or the code of the error. */
export type CallOutcome = string;

/** A script on which the transports differ. */
export interface Difference {
  readonly seed: number;
  readonly description: string;
  readonly grpcJs: readonly string[];
  readonly lean: string;
  readonly reason: string;
  readonly bytes: string;
}

/** Cases that were not compared, or not at once. */
export interface Counts {
  /** The outcome of `lean` is one of several that grpc-js has, depending on the pieces in which the bytes arrive. */
  timeDependent: number;
  early: number;
  /** Frames that Node.js's client understands, and that `lean` refuses or ignores. */
  leftOut: number;
  /** Calls for which only grpc-js waited until the deadline, while `lean` had an outcome earlier. */
  grpcJsHung: number;
}

const MAX_MESSAGE_BYTES = 64 * 1024;
const DEADLINE_MS = 20_000;
/** Attempts to find another outcome of grpc-js: frame by frame, with time between the frames, and in other pieces. */
const CUTS = 6;
const PAUSES_MS = [4, 60, 500];
/** Time after which the server answers without requests: a client that is not content with the settings makes none. */
const NO_REQUEST_MS = 800;
const LONG_NO_REQUEST_MS = 10_000;

/** Serves scripts to clients, one connection each, and compares the outcomes of both transports. */
export class Differential {
  readonly #socketPath: string;
  readonly #server: Server;
  #script: Script | undefined;
  #calls = 0;
  #isUsed = false;
  #noRequestMs = NO_REQUEST_MS;
  readonly counts: Counts = { timeDependent: 0, early: 0, leftOut: 0, grpcJsHung: 0 };
  /** Number of calls by outcome. */
  readonly outcomes: Map<string, number> = new Map();

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#socketPath, resolve));
  }

  close(): void {
    this.#server.close();
  }

  /** Runs the case of a seed. Returns a difference, if there is one. */
  async run(seed: number): Promise<Difference | undefined> {
    this.#noRequestMs = NO_REQUEST_MS;
    if ((await this.#compare(seed)) === undefined) return undefined;
    // On a busy machine, requests may take longer than the server waits for them.
    this.#noRequestMs = LONG_NO_REQUEST_MS;
    return await this.#compare(seed);
  }

  async #compare(seed: number): Promise<Difference | undefined> {
    const random = chanceOf(seed);
    const calls = 1 + Math.floor(random() * 3);
    const script = hostileScript(random, calls);
    if (hasExtensions(script)) {
      this.counts.leftOut++;
      return undefined;
    }
    const { outcome: lean, reason, hasHung } = await this.outcome('lean', script, calls);
    for (const each of lean.split('; ')) {
      const key = each.startsWith('ok') ? 'ok' : each;
      this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + 1);
    }
    const bytes = Buffer.concat(script.pieces).toString('hex').slice(0, 3000);
    const difference = { seed, description: script.description, lean, reason, bytes };
    if (hasHung) return { ...difference, lean: `hung: ${lean}`, grpcJs: [] };
    if (script.isEarly) {
      // Answers that arrive before their requests: the outcome depends on the time in both transports.
      this.counts.early++;
      return undefined;
    }
    const normal = normalizer(script, reason !== '');
    const first = await this.outcome('grpc-js', script, calls);
    const grpcJs = new Set([normal(first.outcome)]);
    if (grpcJs.has(normal(lean))) return undefined;
    if (first.hasHung) {
      this.counts.grpcJsHung++;
      return undefined;
    }
    for (let i = 0; i < CUTS; i++) {
      const pauseMs = PAUSES_MS[i];
      const other = pauseMs === undefined ? recut(script, random) : byFrame(script, pauseMs);
      grpcJs.add(normal((await this.outcome('grpc-js', other, calls)).outcome));
      if (!grpcJs.has(normal(lean))) continue;
      this.counts.timeDependent++;
      return undefined;
    }
    return { ...difference, grpcJs: [...grpcJs] };
  }

  async outcome(
    unaryTransport: 'grpc-js' | 'lean',
    script: Script,
    calls: number,
  ): Promise<{ readonly outcome: string; readonly reason: string; readonly hasHung: boolean }> {
    this.#script = script;
    this.#calls = calls;
    this.#isUsed = false;
    let reason = '';
    const startMs = performance.now();
    const onFallback = (error: Error): void => {
      reason = error.message;
    };
    const options = { socketPath: this.#socketPath, maxMessageBytes: MAX_MESSAGE_BYTES, unaryTransport };
    await using client = new GrpcClient({ onFallback }, options);
    const call = async (): Promise<CallOutcome> => {
      try {
        return `ok ${(await client.unary(echo, {}, { timeoutMs: DEADLINE_MS })).text.slice(0, 40)}`;
      } catch (error) {
        return GrpcError.from(error).code;
      }
    };
    const outcomes = await Promise.all(Array.from({ length: calls }, call));
    return { outcome: outcomes.join('; '), reason, hasHung: performance.now() - startMs >= DEADLINE_MS };
  }

  #serve(socket: Socket): void {
    const script = this.#script;
    socket.on('error', () => {});
    if (this.#isUsed || script === undefined) {
      socket.destroy();
      return;
    }
    this.#isUsed = true;
    socket.write(script.settings);
    let requests = 0;
    let isSent = false;
    const send = (): void => {
      if (!isSent) void sendPieces(socket, script);
      isSent = true;
    };
    const reader = new FrameReader((type, flags) => {
      if (type <= 1 && (flags & END_STREAM) !== 0) requests++;
      if (requests === this.#calls) send();
    });
    let skip = PREFACE.length;
    socket.on('data', (chunk) => {
      const skipped = Math.min(skip, chunk.length);
      skip -= skipped;
      reader.push(chunk.subarray(skipped));
    });
    // Both transports end a connection that they gave up; a client that waits for nothing more is ended here.
    socket.on('end', () => socket.end());
    const timer = setTimeout(send, script.isEarly ? 0 : this.#noRequestMs);
    socket.on('close', () => clearTimeout(timer));
  }
}

async function sendPieces(socket: Socket, { pieces, pauseMs }: Script): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await (pauseMs === 0 ? new Promise(setImmediate) : new Promise((resolve) => setTimeout(resolve, pauseMs)));
  }
  socket.end();
}

/** Returns a function that makes outcomes equal which differ only in how a broken connection is reported. */
function normalizer({ settings, pieces }: Script, isViolation: boolean): (outcome: string) => string {
  // grpc-js sees some errors in the first bytes of a frame, or of a header block, that `lean` never sees whole.
  if (endsWithinFrame(Buffer.concat([settings, ...pieces])))
    return (outcome) => outcome.replaceAll(/\b[A-Z_]{5,}\b/g, 'error');
  // After a violation both transports lose the connection, which grpc-js reports in one of two ways.
  return (outcome) => (isViolation ? outcome.replaceAll('UNAVAILABLE', 'INTERNAL') : outcome);
}

function endsWithinFrame(bytes: Buffer): boolean {
  let isBlockOpen = false;
  let at = 0;
  while (at + 9 <= bytes.length) {
    const type = bytes[at + 3];
    if (type === HEADERS || type === CONTINUATION) isBlockOpen = ((bytes[at + 4] ?? 0) & END_HEADERS) === 0;
    at += 9 + bytes.readUIntBE(at, 3);
  }
  return isBlockOpen || at !== bytes.length;
}

/** Returns whether a script has frames of the types PUSH_PROMISE, ALTSVC or ORIGIN. */
function hasExtensions({ settings, pieces }: Script): boolean {
  let isFound = false;
  const reader = new FrameReader((type) => {
    isFound ||= type === 5 || type === 10 || type === 12;
  });
  try {
    for (const bytes of [settings, ...pieces]) reader.push(bytes);
  } catch {
    // A frame that is too large ends the script for both clients.
  }
  return isFound;
}
