import { abortable, type Clock, checkComponents, checkOptions, systemClock, withTimeout } from '@node-agent/async';
import { errorText, type Logger, silentLogger } from '@node-agent/telemetry';
import { checkCall } from './check-call.ts';
import { DbusError } from './errors.ts';
import {
  type DbusHeader,
  type DbusMessage,
  decodeBody,
  decodeHeader,
  encodeMessage,
  lengthsOf,
  MAX_HEADER_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_SIGNAL_BYTES,
} from './message.ts';
import { ReceiveBuffer } from './receive-buffer.ts';
import { type DbusSubscription, isWanted } from './subscription.ts';
import type { DbusValue } from './values.ts';

/** A stream of bytes to a bus or to a peer: what `net.Socket` has of it. */
export interface ByteStream {
  write(bytes: Uint8Array): unknown;
  destroy(): unknown;
  on(event: 'data', listener: (bytes: Uint8Array) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  on(event: 'error', listener: (err: Error) => void): unknown;
}

/** What is called, and with what. */
export interface DbusCall {
  readonly destination?: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

export interface DbusConnectionComponents {
  /** The machine's own by default. */
  readonly clock?: Pick<Clock, 'setTimer'>;
  /** Connected already, or about to be: what is written to it meanwhile waits. */
  readonly stream: ByteStream;
  /** The signals that are wanted; of all others nothing but the header is read. A bus sends them where it is asked to by `AddMatch`. */
  readonly signals?: readonly DbusSubscription[];
  /** Silent by default. */
  readonly logger?: Logger;
}

export interface DbusConnectionOptions {
  /** As whom it speaks: the process's own, which the kernel vouches for (EXTERNAL). */
  readonly userId: number;
  /** How long an answer may take. Default: 25 s, as everywhere on D-Bus. */
  readonly timeoutMs?: number;
}

/** A message whose body is still to come. */
interface Arriving {
  readonly header: DbusHeader;
  readonly headerLength: number;
  readonly length: number;
}

interface Waiting {
  readonly resolve: (reply: DbusMessage) => void;
  readonly reject: (err: Error) => void;
}

const DEFAULT_TIMEOUT_MS = 25_000;
/** The lines of the greeting are short; whoever sends more is no bus. */
const MAX_GREETING_BYTES = 16_384;

/**
 * One connection to a bus or to a peer that speaks D-Bus. It is of use until it ends: whoever wants to go on makes another.
 * @see the D-Bus specification, "Authentication Protocol" and "Message Protocol"
 */
export class DbusConnection {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #stream: ByteStream;
  readonly #signals: readonly DbusSubscription[];
  readonly #options: Required<DbusConnectionOptions>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #greeted = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #isGreeted = false;
  readonly #logger: Logger;
  readonly #received = new ReceiveBuffer();
  #arriving: Arriving | undefined;
  /** How much is to come yet of a message that is not taken in. */
  #toSkip = 0;
  #serial = 0;
  #ended: DbusError | undefined;

  /** @throws OptionsError naming the component or option that is wrong */
  constructor(components: DbusConnectionComponents, options: DbusConnectionOptions) {
    const asked = checkOptions('DbusConnection', options, { userId: 'count', timeoutMs: 'positive?' });
    checkComponents('DbusConnection', components, { stream: ['write', 'destroy', 'on'] });
    const { clock = systemClock, stream, signals = [], logger = silentLogger } = components;
    this.#clock = clock;
    this.#stream = stream;
    this.#signals = signals;
    this.#logger = logger;
    this.#options = { timeoutMs: DEFAULT_TIMEOUT_MS, ...asked };
    this.#greeted.promise.catch(() => undefined);
    stream.on('data', (bytes) => this.#onData(bytes));
    stream.on('error', (err) =>
      this.#end(new DbusError('Closed', `the D-Bus connection broke: ${errorText(err)}`, { cause: err })),
    );
    stream.on('close', () => this.#end(new DbusError('Closed', 'the D-Bus connection was closed')));
  }

  /** Whether it has ended: nothing can be called any more. */
  get isClosed(): boolean {
    return this.#ended !== undefined;
  }

  /** Resolves when it has ended, by whomever. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Says who one is. @param isBus whether a name is to be asked for, as of a bus; a peer has none to give @throws DbusError */
  async open(isBus: boolean, signal?: AbortSignal): Promise<void> {
    const { userId, timeoutMs } = this.#options;
    const identity = Buffer.from(String(userId)).toString('hex');
    this.#send(Buffer.from(`\0AUTH EXTERNAL ${identity}\r\n`));
    await this.#inTime('the greeting', timeoutMs, () => this.#greeted.promise, signal);
    const bus = 'org.freedesktop.DBus';
    if (isBus)
      await this.call({ destination: bus, path: '/org/freedesktop/DBus', interface: bus, member: 'Hello' }, signal);
  }

  /** Calls a method and waits for its answer; once it is open. @throws DbusError; the signal's reason */
  async call(call: DbusCall, signal?: AbortSignal): Promise<DbusMessage> {
    signal?.throwIfAborted();
    if (this.#ended !== undefined) throw this.#ended;
    if (!this.#isGreeted) throw new DbusError('Closed', 'the D-Bus connection is not open yet');
    checkCall(call);
    this.#serial = (this.#serial % 0xffff_ffff) + 1;
    const serial = this.#serial;
    const bytes = encodeMessage({ body: [], ...call, type: 'call', serial });
    const answer = new Promise<DbusMessage>((resolve, reject) => this.#waiting.set(serial, { resolve, reject }));
    answer.catch(() => undefined);
    try {
      this.#send(bytes);
      return await this.#inTime(`${call.interface}.${call.member}`, this.#options.timeoutMs, () => answer, signal);
    } finally {
      this.#waiting.delete(serial);
    }
  }

  close(): void {
    this.#end(new DbusError('Closed', 'the D-Bus connection was closed'));
  }

  /** An answer that came too late belongs to nobody: it is dropped when it comes. */
  async #inTime<T>(what: string, timeoutMs: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const timeout = new DbusError('Timeout', `no answer to ${what} on D-Bus after ${timeoutMs} ms`);
    try {
      return await withTimeout(this.#clock, timeoutMs, (ending) => abortable(work(), ending), signal);
    } catch (err) {
      if (signal?.aborted || DbusError.is(err)) throw err;
      throw timeout;
    }
  }

  #send(bytes: Uint8Array): void {
    if (this.#ended !== undefined) throw this.#ended;
    this.#stream.write(bytes);
  }

  #onData(bytes: Uint8Array): void {
    if (this.#ended !== undefined) return;
    const skipped = Math.min(this.#toSkip, bytes.length);
    this.#toSkip -= skipped;
    this.#received.add(bytes.subarray(skipped));
    try {
      if (!this.#isGreeted && !this.#readGreeting()) return;
      let isMore = true;
      while (isMore) isMore = this.#readMessage();
    } catch (err) {
      // Where a message ends is not known any more.
      this.#end(DbusError.is(err) ? err : new DbusError('Protocol', errorText(err), { cause: err }));
    }
  }

  /** @returns whether another may follow in what has arrived */
  #readMessage(): boolean {
    const arriving = this.#arriving;
    if (arriving === undefined) return this.#readHeader();
    const { header, headerLength, length } = arriving;
    if (this.#received.length < length) return false;
    // A copy: what is read of it may be a part of these bytes.
    const bytes = Buffer.from(this.#received.peek(length));
    this.#arriving = undefined;
    this.#received.drop(length);
    try {
      this.#onMessage({ ...header, body: decodeBody(bytes, header, headerLength) });
    } catch (err) {
      // What follows can be read.
      this.#answered(header)?.reject(err as Error);
    }
    return true;
  }

  /** Anybody on a bus may send anything: what nobody has asked for costs its header. @returns whether something may follow */
  #readHeader(): boolean {
    const received = this.#received.peek();
    const lengths = lengthsOf(received);
    if (lengths === undefined) return false;
    const { header: headerLength, message: length } = lengths;
    if (headerLength > MAX_HEADER_BYTES) {
      this.#logger.warn({ length }, 'The header of a D-Bus message is too long: passed over');
      return this.#passOver(length);
    }
    if (received.length < headerLength) return false;
    const { header } = decodeHeader(received.subarray(0, headerLength));
    const answered = this.#answered(header);
    const isSignal = this.#signals.some((subscription) => isWanted(header, subscription));
    if (answered === undefined && !isSignal) return this.#passOver(length);
    if (length > (isSignal ? headerLength + MAX_SIGNAL_BYTES : MAX_MESSAGE_BYTES)) {
      answered?.reject(new DbusError('Protocol', `a D-Bus message of ${length} bytes`));
      const { sender, type } = header;
      this.#logger.warn({ length, sender, type }, 'A D-Bus message is too long: passed over');
      return this.#passOver(length);
    }
    this.#arriving = { header, headerLength, length };
    return true;
  }

  #passOver(length: number): true {
    this.#toSkip = length - Math.min(length, this.#received.length);
    this.#received.drop(length);
    return true;
  }

  /** @returns whether messages may follow */
  #readGreeting(): boolean {
    const received = this.#received.peek();
    const end = received.indexOf('\r\n');
    if (end === -1) {
      if (received.length > MAX_GREETING_BYTES) throw new DbusError('Protocol', 'a D-Bus greeting without an end');
      return false;
    }
    const line = received.toString('latin1', 0, end);
    this.#received.drop(end + 2);
    if (!/^OK(?: |$)/.test(line)) {
      throw new DbusError('Protocol', `D-Bus refused the user ${this.#options.userId}: ${line.slice(0, 80)}`);
    }
    this.#isGreeted = true;
    this.#send(Buffer.from('BEGIN\r\n'));
    this.#greeted.resolve();
    return true;
  }

  #onMessage(message: DbusMessage): void {
    for (const subscription of this.#signals) if (isWanted(message, subscription)) this.#tell(message, subscription);
    const waiting = this.#answered(message);
    if (message.type === 'return') waiting?.resolve(message);
    if (message.type !== 'error') return;
    const { errorName = '', body } = message;
    const text = typeof body[0] === 'string' && body[0] !== '' ? body[0] : errorName;
    waiting?.reject(new DbusError('Remote', text, { remoteName: errorName }));
  }

  #tell(signal: DbusMessage, { onSignal }: DbusSubscription): void {
    try {
      onSignal(signal);
    } catch (err) {
      const { interface: face, member } = signal;
      this.#logger.error({ err, interface: face, member }, 'A D-Bus signal could not be dealt with');
    }
  }

  /** The call that a message answers. Anybody on a bus may write into a signal that it answers one. */
  #answered({ type, replySerial = 0 }: Pick<DbusMessage, 'type' | 'replySerial'>): Waiting | undefined {
    return type === 'return' || type === 'error' ? this.#waiting.get(replySerial) : undefined;
  }

  #end(reason: DbusError): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#received.drop(this.#received.length);
    this.#greeted.reject(reason);
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
    this.#stream.destroy();
    this.#closed.resolve();
  }
}
