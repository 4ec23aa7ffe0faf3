import { type Clock, withTimeout } from '@node-agent/async';
import { errorCode } from '@node-agent/host';
import { systemErrorOf } from './system-errors.ts';

/**
 * The timeout for connecting, including the proxy and the TLS handshake, in milliseconds (the value of client-go's
 * dialer).
 */
const DIAL_TIMEOUT_MS = 30_000;

/**
 * Runs all steps of making a connection under one deadline: a server or proxy may accept a connection and then stay
 * silent.
 * @throws an error with the code ETIMEDOUT; the signal's reason; any error of `dial`
 */
export async function withDialDeadline<T>(
  clock: Pick<Clock, 'setTimer'>,
  authority: string,
  dial: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  try {
    return await withTimeout(clock, DIAL_TIMEOUT_MS, dial, signal);
  } catch (error) {
    if (signal?.aborted || errorCode(error) !== 'Timeout') throw error;
    throw systemErrorOf('ETIMEDOUT', `connect to ${authority}: no answer within ${DIAL_TIMEOUT_MS} ms`);
  }
}
