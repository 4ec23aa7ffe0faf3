import { connect, type Socket } from 'node:net';
import type { Clock, Timer } from '@node-agent/async';
import { ConnectionError, NO_ERROR } from './frame.ts';
import { Http2Connection } from './http2-connection.ts';

/** Receives the life of a {@link Link}. */
export interface LinkEvents {
  onReady(): void;
  /** Called when no further call may start on this link. Calls in progress go on. */
  onDraining(): void;
  /** Called once, after the last byte was taken in. Calls in progress are then still to be ended by the owner. */
  onGone(reason: Error): void;
  /** Called once, after {@link onGone}, when the socket is closed. */
  onClosed(): void;
}

const READ_BYTES = 64 * 1024;

/** Bytes that may wait for a peer that does not read. A peer that makes the client answer more is cut off. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Time in which a peer must have read the last bytes before the socket is destroyed, in milliseconds. */
const CLOSE_TIMEOUT_MS = 1000;

/** A unix socket with HTTP/2 on it. */
export class Link {
  readonly connection: Http2Connection;
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #socket: Socket;
  readonly #events: LinkEvents;
  /** Bytes to be written at the end of the tick: calls that start together share one write. */
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
    // Node.js allocates a buffer for each read unless it is given one.
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
    // A peer that hangs up is seen as one of several errors, or as none, depending on the time.
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
    // The socket does not keep the process alive, and a peer that does not read does so for 1 s at most.
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
      // The owner learns of a violation now: the socket closes only after the peer has read.
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
    // A connection without calls does not keep the process alive.
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
