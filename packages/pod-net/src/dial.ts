import type { LookupAddress } from 'node:dns';
import { isIP, type Socket } from 'node:net';
import type { Clock, Timer } from '@node-agent/async';
import { NameLookup } from './name-lookup.ts';
import { ignore } from './socket.ts';

/** Where to connect to. */
export interface DialTarget {
  readonly host: string;
  readonly port: number;
  /** On the clock that never goes back, when all of it must be done, in ms; never where absent. */
  readonly deadlineMs?: number | undefined;
}

/** What a dial takes from outside. */
export interface DialComponents {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  /** One that is not connected yet, for each attempt. */
  readonly newSocket: () => Socket;
  readonly names?: Pick<NameLookup, 'all'>;
}

/** So long after the first family of a name's addresses the other one is tried beside it, in ms. */
const FALLBACK_MS = 300;
/** An attempt has at least so long, if there is as much, in ms. */
const SANE_MINIMUM_MS = 2000;
/** The code of an attempt that took longer than it was given. */
export const DIAL_TIMEOUT = 'DIAL_TIMEOUT';

/** For all connections: what is asked of the C library is the process's. */
const processNames: NameLookup = new NameLookup();

/**
 * Connects as Go's dialer does: the addresses of a name that are of the first one's family in turn, each with its share of the time; those of the
 * other family beside them when the first have failed or 300 ms have passed. (`dialParallel`, `dialSerial` in net/dial.go)
 * @param done is told of the connection, or of the error of the first address; never from within the call
 * @returns what calls it off; `done` is not called then
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

/** What one of so many attempts may take of the time that is left (`partialDeadline`); nothing where it may take all. */
function shareOf(leftMs: number | undefined, attempts: number): number | undefined {
  if (leftMs === undefined || attempts === 1) return undefined;
  return Math.max(leftMs / attempts, Math.min(leftMs, SANE_MINIMUM_MS));
}

function timeout(address: string): Error {
  return Object.assign(new Error('i/o timeout'), { code: DIAL_TIMEOUT, address });
}
