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

/** A byte stream to a bus or peer: the used methods of `net.Socket`. */
export interface ByteStream {
  write(bytes: Uint8Array): unknown;
  destroy(): unknown;
  on(event: 'data', listener: (bytes: Uint8Array) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  on(event: 'error', listener: (err: Error) => void): unknown;
}

/** A method call and its arguments. */
export interface DbusCall {
  readonly destination?: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

export interface DbusConnectionComponents {
  /** Default: the system clock. */
  readonly clock?: Pick<Clock, 'setTimer'>;
  /**
   * Stream to the bus or peer, which is connected or connecting. A stream that is still connecting must buffer writes.
   */
  readonly stream: ByteStream;
  /**
   * The signals to receive. Of other signals only the header is read. A bus sends signals only after a call of
   * `AddMatch`.
   */
  readonly signals?: readonly DbusSubscription[];
  /** Default: no logging. */
  readonly logger?: Logger;
}

export interface DbusConnectionOptions {
  /** The user ID to authenticate as. Must be this process's user ID, which the bus reads from the kernel (EXTERNAL). */
  readonly userId: number;
  /** The timeout of a call, in milliseconds. Default: 25 s, D-Bus's usual timeout. */
  readonly timeoutMs?: number;
}

/** A message whose body has not arrived completely. */
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
/** The size limit of the greeting. The lines of a greeting are short; a longer greeting does not come from a bus. */
const MAX_GREETING_BYTES = 16_384;

/**
 * One connection to a bus or peer. A connection that has ended cannot be reopened; callers create a new one.
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
  /** The remaining bytes of a skipped message. */
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

  /** Whether the connection has ended. A call on an ended connection fails. */
  get isClosed(): boolean {
    return this.#ended !== undefined;
  }

  /** Resolves when the connection has ended, on either side. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Authenticates. @param isBus whether to request a name, which only a bus assigns @throws DbusError */
  async open(isBus: boolean, signal?: AbortSignal): Promise<void> {
    const { userId, timeoutMs } = this.#options;
    const identity = Buffer.from(String(userId)).toString('hex');
    this.#send(Buffer.from(`\0AUTH EXTERNAL ${identity}\r\n`));
    await this.#inTime('the greeting', timeoutMs, () => this.#greeted.promise, signal);
    const bus = 'org.freedesktop.DBus';
    if (isBus)
      await this.call({ destination: bus, path: '/org/freedesktop/DBus', interface: bus, member: 'Hello' }, signal);
  }

  /** Calls a method and waits for its reply. The connection must be open. @throws DbusError; the signal's reason */
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

  /** Waits with a timeout. A late reply is dropped when it arrives. */
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
      // After invalid data, the position of the next message is unknown, so the connection ends.
      this.#end(DbusError.is(err) ? err : new DbusError('Protocol', errorText(err), { cause: err }));
    }
  }

  /** Reads the next message. @returns whether the received data may contain another message */
  #readMessage(): boolean {
    const arriving = this.#arriving;
    if (arriving === undefined) return this.#readHeader();
    const { header, headerLength, length } = arriving;
    if (this.#received.length < length) return false;
    // Copies the bytes, because decoded values may be views of them.
    const bytes = Buffer.from(this.#received.peek(length));
    this.#arriving = undefined;
    this.#received.drop(length);
    try {
      this.#onMessage({ ...header, body: decodeBody(bytes, header, headerLength) });
    } catch (err) {
      // Only this message is invalid; later messages can still be read.
      this.#answered(header)?.reject(err as Error);
    }
    return true;
  }

  /**
   * Reads a header. Any client of a bus can send any message, so an unrequested message is skipped after its header.
   * @returns whether the received data may contain another message
   */
  #readHeader(): boolean {
    const received = this.#received.peek();
    const lengths = lengthsOf(received);
    if (lengths === undefined) return false;
    const { header: headerLength, message: length } = lengths;
    if (headerLength > MAX_HEADER_BYTES) {
      this.#logger.warn({ length }, 'Skipped a D-Bus message: its header is too long');
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
      this.#logger.warn({ length, sender, type }, 'Skipped a D-Bus message: it is too long');
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

  /** Reads a line of the greeting. @returns whether messages may follow */
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
      this.#logger.error({ err, interface: face, member }, 'Handler of a D-Bus signal failed');
    }
  }

  /**
   * Returns the call that a message replies to. A signal is ignored even if it names a call, because any client of a
   * bus can send one.
   */
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
