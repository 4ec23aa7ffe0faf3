import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@node-agent/async';
import type { LastWord } from '../http/last-word.ts';
import { type IdleLimits, IdleWatch } from '../listen/idle-watch.ts';
import type { LendingConnection } from './lending-connection.ts';

export interface SpliceOptions extends IdleLimits {
  /** What carries the client's end, where that is no connection itself. */
  readonly carrier?: Duplex | undefined;
  /** What the client may be told when all of it is to end; nothing where absent. */
  readonly lastWord?: LastWord | undefined;
  /** Lends what the runtime says, where it can. */
  readonly lender?: Pick<LendingConnection, 'lend'> | undefined;
}

/** How long a client has to take the last word. */
const LAST_WORD_MS = 1000;

/**
 * Hands on what comes from each of two connections to the other, byte for byte, no faster than it is taken, until both have
 * ended (W2): an end of one is handed on while the other has more to say; a break of one breaks the other off, when that has
 * been handed what was said before. Resolves when both are closed. When `signal` ends it, the client gets a last word between
 * two frames, and none in the midst of one.
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
  /** Whether the client has had its last word. */
  let isOver = false;
  const breakOff = (): void => {
    client.destroy();
    runtime.destroy();
  };
  const watch = new IdleWatch(clock, limits, breakOff);
  const end = (): void => {
    // A client that has gone is heard of by its end, after what it has said before.
    if (carrier.destroyed) return;
    const word = client.writable ? lastWord?.word : undefined;
    if (word === undefined) {
      breakOff();
      return;
    }
    isOver = true;
    runtime.destroy();
    client.end(word);
    // What it says still is not listened to, but its end is.
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
  /** Whether somebody is to hear it. */
  const heard = (from: Duplex, to: Duplex, chunk: Buffer): boolean => {
    // What is said to nobody keeps nothing open.
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
      // What it said before it ended or broke off is handed on still, as by Go's proxy, which writes before it reads on; that it
      // heard the rest cannot be.
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
  // What the client has said and nobody takes does not keep it from being gone.
  if (carrier !== client) carrier.once('close', linger);
  if (signal.aborted || carrier.destroyed || runtime.destroyed) breakOff();
  else signal.addEventListener('abort', end, { once: true });
  close();
  return promise;
}
