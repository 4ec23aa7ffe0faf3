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

/** Numbers of mutations, and of cases that could not be compared exactly, by reason. */
export interface Counts {
  /**
   * Cases in which grpc-js has several outcomes, depending on the pieces in which the bytes arrive, and `lean` has one
   * of them.
   */
  timeDependent: number;
  early: number;
  /** Cases with frames that Node.js's client supports, but that `lean` rejects or ignores. */
  leftOut: number;
  /** Calls that had an outcome with `lean`, but waited until the deadline with grpc-js. */
  grpcJsHung: number;
  /** Changes of frames and bytes in the compared cases. */
  mutations: number;
  /** Places in the compared cases at which the bytes were cut into pieces. */
  cuts: number;
}

const MAX_MESSAGE_BYTES = 64 * 1024;
const DEADLINE_MS = 20_000;
/**
 * Number of repetitions that look for another outcome of grpc-js. The bytes are sent frame by frame, with time between
 * the frames, or in other pieces.
 */
const CUTS = 6;
const PAUSES_MS = [4, 60, 500];
/**
 * Time after which the server sends its responses even without requests. A client that rejects the server's settings
 * makes no requests.
 */
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
  readonly counts: Counts = { timeDependent: 0, early: 0, leftOut: 0, grpcJsHung: 0, mutations: 0, cuts: 0 };
  /** Number of calls with each outcome. */
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

  /** Runs the case of a seed. Returns the difference between the transports, or `undefined`. */
  async run(seed: number): Promise<Difference | undefined> {
    this.#noRequestMs = NO_REQUEST_MS;
    if ((await this.#compare(seed)) === undefined) return undefined;
    // On a busy machine, requests may take longer than the server has waited for them, so the case is repeated with a
    // longer wait.
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
      // If responses arrive before their requests, the outcome depends on the timing in both transports.
      this.counts.early++;
      return undefined;
    }
    this.counts.mutations += script.description.split(' ').filter((note) => note !== '').length;
    this.counts.cuts += Math.max(script.pieces.length - 1, 0);
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
    // Both transports close a connection after a violation. This handler closes the connection of a client that has
    // ended its side.
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

/**
 * Returns a function that maps outcomes to a common form if they differ only in how a broken connection is reported.
 */
function normalizer({ settings, pieces }: Script, isViolation: boolean): (outcome: string) => string {
  // If the bytes end within a frame or header block, grpc-js reports an error in its first bytes, which `lean` never
  // processes.
  if (endsWithinFrame(Buffer.concat([settings, ...pieces])))
    return (outcome) => outcome.replaceAll(/\b[A-Z_]{5,}\b/g, 'error');
  // After a violation, both transports lose the connection. grpc-js reports the loss as one of two codes.
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

/** Returns whether a script contains frames of the types PUSH_PROMISE, ALTSVC or ORIGIN. */
function hasExtensions({ settings, pieces }: Script): boolean {
  let isFound = false;
  const reader = new FrameReader((type) => {
    isFound ||= type === 5 || type === 10 || type === 12;
  });
  try {
    for (const bytes of [settings, ...pieces]) reader.push(bytes);
  } catch {
    // A frame that is too large ends the script for both transports.
  }
  return isFound;
}
