import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@node-agent/async';
import type { LastWord } from './last-word.ts';

export interface SpliceOptions {
  /** How long both may be silent, in milliseconds. */
  readonly idleMs: number;
  /** How long one may be silent after the other has ended, in milliseconds. */
  readonly lingerMs: number;
  /** What the client may be told when all of it is to end; nothing where absent. */
  readonly lastWord?: LastWord | undefined;
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
  { idleMs, lingerMs, lastWord }: SpliceOptions,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let lastMs = clock.monotonic();
  let timer: Timer | undefined;
  let isEnding = false;
  /** Whether the client has had its last word. */
  let isOver = false;
  const breakOff = (): void => {
    client.destroy();
    runtime.destroy();
  };
  const end = (): void => {
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
    timer?.cancel();
    timer = clock.setTimer(LAST_WORD_MS, breakOff);
  };
  const watch = (): void => {
    timer?.cancel();
    const leftMs = (isEnding ? lingerMs : idleMs) - (clock.monotonic() - lastMs);
    if (leftMs <= 0) breakOff();
    else timer = clock.setTimer(leftMs, watch);
  };
  const close = (): void => {
    if (!client.closed || !runtime.closed) return;
    timer?.cancel();
    signal.removeEventListener('abort', end);
    resolve();
  };
  const handOn = (from: Duplex, to: Duplex): void => {
    from.on('data', (chunk: Buffer) => {
      // What is said to nobody keeps nothing open.
      if (isOver || to.destroyed) return;
      lastMs = clock.monotonic();
      if (from === runtime) lastWord?.see(chunk);
      if (to.writable && !to.write(chunk)) from.pause();
    });
    to.on('drain', () => from.resume());
    const linger = (): void => {
      isEnding = true;
      lastMs = clock.monotonic();
      watch();
    };
    from.on('end', () => {
      if (isOver) return;
      to.end();
      linger();
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
      if (!to.destroyed) linger();
      close();
    });
  };
  handOn(client, runtime);
  handOn(runtime, client);
  if (signal.aborted || client.destroyed || runtime.destroyed) breakOff();
  else {
    signal.addEventListener('abort', end, { once: true });
    watch();
  }
  close();
  return promise;
}
