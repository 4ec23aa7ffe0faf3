import { connect, type Socket } from 'node:net';
import type { Clock, Timer } from '@node-agent/async';
import { ConnectionError, NO_ERROR } from './frame.ts';
import { Http2Connection } from './http2-connection.ts';

/** Receives the events of a {@link Link}. */
export interface LinkEvents {
  onReady(): void;
  /** Called when no further call may start on this link. Calls in progress continue. */
  onDraining(): void;
  /** Called once, after the last received byte was processed. The owner must then end the calls in progress. */
  onGone(reason: Error): void;
  /** Called once, after {@link onGone}, when the socket is closed. */
  onClosed(): void;
}

const READ_BYTES = 64 * 1024;

/** Maximum number of bytes that wait for a peer that does not read. Beyond this limit, the socket is destroyed. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Time within which a peer must have read the last bytes before the socket is destroyed, in milliseconds. */
const CLOSE_TIMEOUT_MS = 1000;

/** An HTTP/2 connection over a unix socket. */
export class Link {
  readonly connection: Http2Connection;
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #socket: Socket;
  readonly #events: LinkEvents;
  /** Bytes that are written at the end of the current tick, so that calls that start together share one write. */
  #outgoing: Buffer[] = [];
  #reason: Error | undefined;
  #isGone = false;
  #closing: Timer | undefined;

  constructor(clock: Pick<Clock, 'setTimer'>, socketPath: string, events: LinkEvents) {
    this.#clock = clock;
    this.#events = events;
    this.connection = new Http2Connection({
      write: (bytes) => this.#write(bytes),
      onReady: () => events.onReady(),
      onDraining: () => {
        events.onDraining();
        this.#endIfIdle();
      },
      onActive: (isActive) => this.#setActive(isActive),
    });
    // A buffer is passed to Node.js because otherwise Node.js would allocate one for each read.
    const onread = {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (bytes: number, buffer: Uint8Array) => this.#receive(buffer as Buffer, bytes),
    };
    this.#socket = connect({ path: socketPath, onread });
    let isDialled = false;
    this.#socket.on('connect', () => {
      isDialled = true;
      this.connection.open();
    });
    // When a peer hangs up, the socket reports one of several errors or none, depending on the timing. All are reported
    // as the same error.
    this.#socket.on('error', (error) =>
      this.close(isDialled ? new Error('Failed to connect', { cause: error }) : error),
    );
    this.#socket.on('close', () => {
      this.#closing?.cancel();
      this.#gone();
      events.onClosed();
    });
  }

  /** Closes the socket. Bytes already written are sent first, unless the peer does not read them within 1 s. */
  close(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    if (reason instanceof ConnectionError) this.connection.goAway(reason.code);
    this.#flush();
    // A closing socket must not keep the process alive. If the peer does not read, the socket is destroyed after 1 s.
    this.#socket.unref();
    if (this.#socket.connecting) this.#socket.destroy();
    else this.#socket.destroySoon();
    if (this.#socket.destroyed) return;
    this.#closing = this.#clock.setTimer(CLOSE_TIMEOUT_MS, () => this.#socket.destroy());
  }

  /** Sends GOAWAY and closes the socket. A socket that is already closing is destroyed. */
  leave(reason: Error): void {
    if (this.#reason !== undefined) {
      this.#socket.destroy();
      return;
    }
    if (!this.#socket.connecting) this.connection.goAway(NO_ERROR);
    this.close(reason);
  }

  /** Lets the process exit although the connection is open. A call that starts keeps the process alive again. */
  rest(): void {
    this.#socket.unref();
  }

  #receive(buffer: Buffer, bytes: number): boolean {
    if (this.#reason !== undefined) return true;
    try {
      this.connection.receive(buffer.subarray(0, bytes));
    } catch (error) {
      this.close(error instanceof Error ? error : new Error(String(error)));
      // The owner is notified of the violation immediately, because the socket closes only when the peer has read the
      // last bytes.
      this.#gone();
    }
    return true;
  }

  #write(bytes: Buffer): void {
    if (this.#outgoing.length === 0) process.nextTick(() => this.#flush());
    this.#outgoing.push(bytes);
  }

  #flush(): void {
    const outgoing = this.#outgoing;
    const first = outgoing[0];
    if (first === undefined) return;
    this.#outgoing = [];
    if (!this.#socket.writable) return;
    this.#socket.write(outgoing.length === 1 ? first : Buffer.concat(outgoing));
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy(new Error('the peer does not read'));
  }

  #setActive(isActive: boolean): void {
    if (isActive) this.#socket.ref();
    // A connection without calls must not keep the process alive.
    else this.#socket.unref();
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (this.connection.isDraining && this.connection.calls === 0) this.close(new Error('Connection drained'));
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#events.onGone(this.#reason ?? new Error('Failed to connect'));
  }
}
