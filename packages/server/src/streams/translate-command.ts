import { type Clock, every, type Timer, withTimeout } from '@node-agent/async';
import { SpdyConnection, type SpdyStream } from '@node-agent/spdy';
import { errorText } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';
import { type IdleLimits, IdleWatch } from '../listen/idle-watch.ts';
import type { CommandChannels } from './command-channels.ts';
import { type CommandStatus, commandStatus, failedCommand } from './command-status.ts';
import type { Dialled } from './runtime-dial.ts';
import type { RemoteCommandOptions } from './stream-options.ts';

export interface TranslationComponents {
  readonly clock: Clock;
  readonly channels: CommandChannels;
  /** Requests a SPDY connection from the runtime. */
  dial(signal: AbortSignal): Promise<Dialled>;
}

/** The SPDY protocols offered to the runtime for exec and attach, the preferred one first. Over SPDY, v5 equals v4. */
export const OFFERED_PROTOCOLS: readonly string[] = ['v5', 'v4', 'v3', 'v2'].map(
  (version) => `${version}.channel.k8s.io`,
);

/** How long a runtime has to accept each stream, in milliseconds, as in upstream. */
const OPEN_MS = 30_000;
/**
 * The interval of pings, in milliseconds. The runtime is pinged as in upstream. A client is pinged too while nothing is
 * read from it.
 */
export const ASK_MS = 5000;
/** How long both ends have to finish when the server stops, in milliseconds. */
const FAREWELL_MS = 1000;
/** The maximum size of the command's status, in bytes. The status that the runtime reports contains the command. */
const MAX_STATUS_BYTES = 1024 * 1024;

/**
 * Translates an exec or attach between a client's WebSocket channels and the runtime's SPDY streams, as upstream's
 * `StreamTranslatorHandler` does (`k8s.io/apiserver/pkg/util/proxy`). Data flows as fast as the receiver accepts it,
 * until both ends have finished (W2). The client's error channel reports the command's result, or why the command was
 * not run.
 */
export async function translateCommand(
  components: TranslationComponents,
  asked: RemoteCommandOptions,
  limits: IdleLimits,
  signal: AbortSignal,
): Promise<void> {
  const { channels } = components;
  let runtime: CommandStreams;
  try {
    runtime = await openStreams(components, asked, signal);
  } catch (error) {
    if (signal.aborted) channels.close(1001);
    else channels.end(failedCommand(errorText(error)));
    const timer = components.clock.setTimer(limits.lingerMs, () => channels.destroy());
    await channels.closed;
    timer.cancel();
    return;
  }
  await new Translation(components, runtime, limits).run(signal);
}

/** The SPDY streams of a command, opened in the runtime. */
interface CommandStreams {
  readonly connection: SpdyConnection;
  readonly protocol: string;
  readonly error: SpdyStream;
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream | undefined;
  readonly stderr: SpdyStream | undefined;
  readonly resize: SpdyStream | undefined;
}

/**
 * Requests a SPDY connection from the runtime and opens the requested streams.
 * @throws ServerError `StreamingFailed` if the runtime rejects the request; SpdyError; the signal's reason
 */
async function openStreams(
  { clock, dial }: TranslationComponents,
  { stdin, stdout, stderr, tty }: RemoteCommandOptions,
  signal: AbortSignal,
): Promise<CommandStreams> {
  const dialled = await dial(signal);
  if (dialled.connection === undefined) {
    throw new ServerError('StreamingFailed', `unable to upgrade connection: ${refusalWords(dialled.refusal.body)}`);
  }
  const socket = dialled.connection;
  const protocol = String(dialled.headers['x-stream-protocol-version'] ?? '');
  if (dialled.headers.upgrade?.toLowerCase() !== 'spdy/3.1' || !OFFERED_PROTOCOLS.includes(protocol)) {
    socket.destroy();
    throw new ServerError('StreamingFailed', 'unable to upgrade connection: the runtime speaks another protocol');
  }
  const connection = new SpdyConnection(socket, { role: 'client', head: dialled.rest });
  const open = (type: string): Promise<SpdyStream> => connection.open({ streamtype: type });
  try {
    // The streams are opened in upstream's order.
    const opened = Promise.all([
      open('error'),
      stdin ? open('stdin') : undefined,
      stdout ? open('stdout') : undefined,
      stderr ? open('stderr') : undefined,
      tty && protocol !== 'v2.channel.k8s.io' ? open('resize') : undefined,
    ]);
    const [error, ...others] = await withTimeout(clock, OPEN_MS, () => opened, signal);
    return { connection, protocol, error, stdin: others[0], stdout: others[1], stderr: others[2], resize: others[3] };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/**
 * Returns the message of a rejection, which may be inside a status object (`upgradeErrorMessage`,
 * `k8s.io/streaming/pkg/httpstream/spdy`).
 */
function refusalWords(body: string): string {
  try {
    const { message, error } = JSON.parse(body);
    for (const words of [message, error]) if (typeof words === 'string' && words.trim() !== '') return words.trim();
  } catch {
    // The body is plain text.
  }
  return body.trim() === '' ? 'empty server response' : body.trim();
}

/** A translation in progress between a client and the runtime. */
class Translation {
  readonly #clock: Clock;
  readonly #channels: CommandChannels;
  readonly #runtime: CommandStreams;
  readonly #watch: IdleWatch;
  #farewell: Timer | undefined;
  /** The newest terminal size that is not yet sent, because the runtime has not yet received the previous one. */
  #size: string | undefined;
  #isSizing = false;

  constructor({ clock, channels }: TranslationComponents, runtime: CommandStreams, limits: IdleLimits) {
    this.#clock = clock;
    this.#channels = channels;
    this.#runtime = runtime;
    this.#watch = new IdleWatch(clock, limits, () => this.#breakOff());
  }

  async run(signal: AbortSignal): Promise<void> {
    const { connection } = this.#runtime;
    const end = (): void => this.#end();
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
    const asking = new AbortController();
    void every(this.#clock, ASK_MS, () => this.#ask(), asking.signal, { immediate: false });
    this.#takeInput();
    void this.#tellOutcome();
    await Promise.all([connection.closed, this.#channels.closed]);
    asking.abort();
    signal.removeEventListener('abort', end);
    this.#watch.cancel();
    this.#farewell?.cancel();
  }

  /** Forwards the client's input. */
  #takeInput(): void {
    const { stdin, resize } = this.#runtime;
    const wantMore = (): void => this.#channels.wantMore();
    // The runtime sends no data on these two streams, but flow control and the end of a stream are processed only while
    // the stream is read.
    for (const stream of [stdin, resize]) stream?.resume();
    stdin?.on('drain', wantMore).on('close', wantMore);
    stdin?.on('end', () => stdin.end());
    this.#channels.listen({
      input: (data) => this.#input(data),
      inputEnd: () => void stdin?.end(),
      resize: (size) => this.#resize(size),
      gone: () => this.#clientGone(),
    });
  }

  #input(data: Buffer): boolean {
    const { stdin } = this.#runtime;
    this.#watch.heard();
    if (stdin === undefined || !stdin.writable) return true;
    return stdin.write(data);
  }

  /**
   * Forwards a terminal size. While the runtime accepts no terminal size, only the newest one is kept. Reading from the
   * client continues meanwhile, so that a disconnection of the client is noticed. Unsent sizes do not count as
   * activity.
   */
  #resize(size: string): void {
    this.#size = size;
    if (!this.#isSizing) this.#sayResize();
  }

  #sayResize(): void {
    const { resize } = this.#runtime;
    if (this.#size === undefined || resize === undefined || !resize.writable) return;
    this.#isSizing = true;
    resize.write(this.#size, (error) => {
      if (error != null) return;
      this.#watch.heard();
      this.#isSizing = false;
      this.#sayResize();
    });
    this.#size = undefined;
  }

  /** Forwards the runtime's output, and then the command's result. */
  async #tellOutcome(): Promise<void> {
    const { stdout, stderr, error, protocol } = this.#runtime;
    const [said] = await Promise.all([
      this.#errorText(error),
      this.#copy('stdout', stdout),
      this.#copy('stderr', stderr),
    ]);
    if (this.#channels.isGone) return;
    this.#watch.linger();
    this.#channels.end(this.#statusOf(protocol, said));
  }

  #statusOf(protocol: string, said: string | undefined): CommandStatus {
    if (said === undefined)
      return failedCommand(`error reading from error stream: more than ${MAX_STATUS_BYTES} bytes`);
    return commandStatus(protocol, said);
  }

  /** Forwards an output stream to the client. Resolves when the stream has ended, or the client has disconnected. */
  #copy(name: 'stdout' | 'stderr', stream: SpdyStream | undefined): Promise<void> {
    if (stream === undefined) return Promise.resolve();
    stream.on('data', (chunk: Buffer) => {
      // After the client has disconnected, output is read but discarded, and does not count as activity.
      if (this.#channels.isGone) return;
      this.#watch.heard();
      const onDrain = (): void => {
        this.#watch.heard();
        stream.resume();
      };
      if (!this.#channels.say(name, chunk, onDrain)) stream.pause();
    });
    return endOf(stream);
  }

  /** Returns the content of the error stream, or `undefined` if it is too long. */
  async #errorText(stream: SpdyStream): Promise<string | undefined> {
    const pieces: Buffer[] = [];
    let size = 0;
    stream.on('data', (piece: Buffer) => {
      size += piece.length;
      if (size <= MAX_STATUS_BYTES) pieces.push(piece);
      else pieces.length = 0;
    });
    await endOf(stream);
    return size > MAX_STATUS_BYTES ? undefined : Buffer.concat(pieces).toString();
  }

  #clientGone(): void {
    const { stdin, stdout, stderr, connection } = this.#runtime;
    this.#watch.linger();
    for (const output of [stdout, stderr]) output?.resume();
    // Disconnects like a SPDY client that vanished: after an orderly GOAWAY, a runtime would let the command continue.
    const hangUp = (): void => connection.hangUp();
    if (stdin === undefined || stdin.destroyed || stdin.writableFinished) hangUp();
    // Input received before the disconnection is still forwarded.
    else stdin.once('finish', hangUp).once('close', hangUp).end();
  }

  /**
   * Ends the translation when the server stops. If the client has already disconnected, `#clientGone` ends the
   * translation instead.
   */
  #end(): void {
    if (this.#channels.isGone) return;
    this.#channels.close(1001);
    this.#runtime.connection.hangUp();
    this.#farewell = this.#clock.setTimer(FAREWELL_MS, () => this.#breakOff());
  }

  #ask(): void {
    this.#runtime.connection.ping();
    this.#channels.probe();
  }

  #breakOff(): void {
    this.#channels.destroy();
    this.#runtime.connection.destroy();
  }
}

/** Resolves when a stream has no more data. */
function endOf(stream: SpdyStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.readableEnded || stream.destroyed) resolve();
    else stream.once('end', resolve).once('close', resolve);
  });
}
