import type { LookupAddress } from 'node:dns';
import { isIP, type Socket } from 'node:net';
import type { Clock, Timer } from '@node-agent/async';
import { NameLookup } from './name-lookup.ts';
import { ignore } from './socket.ts';

/** Host and port to connect to. */
export interface DialTarget {
  readonly host: string;
  readonly port: number;
  /** Deadline for the whole exchange, in ms of the monotonic clock. Default: no deadline. */
  readonly deadlineMs?: number | undefined;
}

/** Dependencies of {@link dial}. */
export interface DialComponents {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  /** Returns an unconnected socket; called once per attempt. */
  readonly newSocket: () => Socket;
  readonly names?: Pick<NameLookup, 'all'>;
}

/**
 * Delay in ms after which the addresses of the other IP family are tried in parallel (Go's default `FallbackDelay`).
 */
const FALLBACK_MS = 300;
/**
 * Minimum time in ms for one attempt (`saneMinimum` in Go's `partialDeadline`). An attempt gets less only if less time
 * is left before the deadline.
 */
const SANE_MINIMUM_MS = 2000;
/** Code of the error of an attempt that exceeded its share of the time. */
export const DIAL_TIMEOUT = 'DIAL_TIMEOUT';

/** Name lookup that all connections share, because the C library's resolver threads belong to the whole process. */
const processNames: NameLookup = new NameLookup();

/**
 * Connects as Go's dialer does (`dialParallel`, `dialSerial` in net/dial.go). The addresses that have the IP family of
 * the first address are tried one after another, each with a share of the remaining time. The addresses of the other
 * family are tried in parallel as soon as the first family has failed or 300 ms have passed.
 * @param done receives the connected socket, or the error of the first address; never called synchronously from within
 * `dial`
 * @returns a function that cancels the dial, so that `done` is not called any more
 */
export function dial(
  { host, port, deadlineMs }: DialTarget,
  { clock, newSocket, names = processNames }: DialComponents,
  done: (result: Socket | Error) => void,
): () => void {
  const attempts = new Set<() => void>();
  let fallback: Timer | undefined;
  let lookUpNoMore: (() => void) | undefined;
  let isDone = false;
  const end = (): void => {
    isDone = true;
    lookUpNoMore?.();
    fallback?.cancel();
    for (const callOff of attempts) callOff();
  };

  const attempt = (address: string, limitMs: number | undefined, failed: (error: Error) => void): void => {
    const socket = newSocket();
    const over = (): void => {
      attempts.delete(callOff);
      timer?.cancel();
      socket.off('connect', onConnect).off('error', fail);
    };
    const callOff = (): void => {
      over();
      socket.on('error', ignore).destroy();
    };
    const fail = (error: Error): void => {
      callOff();
      failed(error);
    };
    const onConnect = (): void => {
      over();
      end();
      done(socket);
    };
    const timer = limitMs === undefined ? undefined : clock.setTimer(limitMs, () => fail(timeout(address)));
    attempts.add(callOff);
    socket.on('connect', onConnect).on('error', fail);
    socket.connect({ host: address, port });
  };

  const serially = (addresses: readonly string[], failed: (error: Error) => void, first?: Error, at = 0): void => {
    const address = addresses[at];
    const leftMs = deadlineMs === undefined ? undefined : deadlineMs - clock.monotonic();
    if (address === undefined) failed(first ?? new Error('missing address'));
    else if (leftMs !== undefined && leftMs <= 0) failed(first ?? timeout(address));
    else {
      const shareMs = shareOf(leftMs, addresses.length - at);
      attempt(address, shareMs, (error) => serially(addresses, failed, first ?? error, at + 1));
    }
  };

  const race = (addresses: readonly LookupAddress[]): void => {
    const [first] = addresses;
    const of = (isFirst: boolean): string[] =>
      addresses.filter(({ family }) => (family === first?.family) === isFirst).map(({ address }) => address);
    const [primaries, others] = [of(true), of(false)];
    let primaryError: Error | undefined;
    let othersFailed = false;
    let othersBegan = false;
    const beginOthers = (): void => {
      fallback?.cancel();
      if (othersBegan) return;
      othersBegan = true;
      serially(others, () => {
        othersFailed = true;
        if (primaryError !== undefined) done(primaryError);
      });
    };
    if (others.length > 0) fallback = clock.setTimer(FALLBACK_MS, beginOthers);
    serially(primaries, (error) => {
      primaryError = error;
      if (othersFailed || others.length === 0) done(error);
      else beginOthers();
    });
  };

  if (isIP(host) !== 0) attempt(host, undefined, done);
  else {
    lookUpNoMore = names.all(host, (error, addresses) => {
      if (isDone) return;
      if (error === null) race(addresses);
      else done(error);
    });
  }
  return end;
}

/**
 * Returns how many of the remaining ms one of `attempts` attempts may use (Go's `partialDeadline`), or `undefined` if
 * the attempt may use all remaining time.
 */
function shareOf(leftMs: number | undefined, attempts: number): number | undefined {
  if (leftMs === undefined || attempts === 1) return undefined;
  return Math.max(leftMs / attempts, Math.min(leftMs, SANE_MINIMUM_MS));
}

function timeout(address: string): Error {
  return Object.assign(new Error('i/o timeout'), { code: DIAL_TIMEOUT, address });
}
