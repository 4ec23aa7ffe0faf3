import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@node-agent/async';
import type { LastWord } from '../http/last-word.ts';
import { type IdleLimits, IdleWatch } from '../listen/idle-watch.ts';
import type { LendingConnection } from './lending-connection.ts';

export interface SpliceOptions extends IdleLimits {
  /** The connection that carries the client's stream, if the stream is not itself a connection. */
  readonly carrier?: Duplex | undefined;
  /** Supplies the closing frame for the client when the server stops. If absent, the client gets no closing frame. */
  readonly lastWord?: LastWord | undefined;
  /** Lends the buffers of the runtime's connection. If absent, the connection is read by listening for `data`. */
  readonly lender?: Pick<LendingConnection, 'lend'> | undefined;
}

/** How long a client has to receive the closing frame, in milliseconds. */
const LAST_WORD_MS = 1000;

/**
 * Forwards data between two connections byte for byte, as fast as the receivers accept it, until both have ended (W2).
 * The end of one direction is forwarded while the other continues. If one connection breaks, the other receives the
 * remaining data and is then closed. Resolves when both are closed. When `signal` is aborted, the client gets a closing
 * frame if the stream is between two frames.
 */
export function splice(
  client: Duplex,
  runtime: Duplex,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  { lastWord, lender, carrier = client, ...limits }: SpliceOptions,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let farewell: Timer | undefined;
  /** Whether the client has been sent the closing frame. */
  let isOver = false;
  const breakOff = (): void => {
    client.destroy();
    runtime.destroy();
  };
  const watch = new IdleWatch(clock, limits, breakOff);
  const end = (): void => {
    // The client has already disconnected: the code that forwards its remaining data also ends the stream.
    if (carrier.destroyed) return;
    const word = client.writable ? lastWord?.word : undefined;
    if (word === undefined) {
      breakOff();
      return;
    }
    isOver = true;
    runtime.destroy();
    client.end(word);
    // Further data from the client is discarded. The client is still read, so that its end is noticed.
    client.resume();
    watch.cancel();
    farewell = clock.setTimer(LAST_WORD_MS, breakOff);
  };
  const linger = (): void => watch.linger();
  const close = (): void => {
    if (!client.closed || !runtime.closed) return;
    watch.cancel();
    carrier.off('close', linger);
    farewell?.cancel();
    signal.removeEventListener('abort', end);
    resolve();
  };
  /** Returns whether the chunk should be forwarded. */
  const heard = (from: Duplex, to: Duplex, chunk: Buffer): boolean => {
    // Data that is discarded does not count as activity.
    if (isOver || to.destroyed) return false;
    watch.heard();
    if (from === runtime) lastWord?.see(chunk);
    return to.writable;
  };
  const listen = (from: Duplex, to: Duplex): void => {
    from.on('data', (chunk: Buffer) => {
      if (heard(from, to, chunk) && !to.write(chunk)) from.pause();
    });
    to.on('drain', () => from.resume());
  };
  const handOn = (from: Duplex, to: Duplex): void => {
    from.on('end', () => {
      if (isOver) return;
      to.end();
      watch.linger();
    });
    from.on('error', () => {});
    from.on('close', () => {
      if (isOver && from === runtime) {
        close();
        return;
      }
      // Data received before the end or the break is still forwarded, as in Go's proxy, which writes before it reads
      // further. Whether the other end receives the rest is unknown.
      if (to.writable) to.end(() => to.destroy());
      else if (!to.writableFinished) to.once('finish', () => to.destroy());
      else to.destroy();
      if (!to.destroyed) watch.linger();
      close();
    });
  };
  handOn(client, runtime);
  handOn(runtime, client);
  listen(client, runtime);
  if (lender === undefined) listen(runtime, client);
  else {
    lender.lend((chunk, giveBack) => {
      if (heard(runtime, client, chunk)) client.write(chunk, giveBack);
      else giveBack();
    });
  }
  // The carrier is watched because unread data of the client would delay the `close` event of the client's stream.
  if (carrier !== client) carrier.once('close', linger);
  if (signal.aborted || carrier.destroyed || runtime.destroyed) breakOff();
  else signal.addEventListener('abort', end, { once: true });
  close();
  return promise;
}
