import { type Clock, jitter, type Random, sleep } from '@node-agent/async';

/** Pauses of `updateBackoff` (`nodeinfomanager.go`): four attempts within about 300 ms, with 10 % jitter. */
const PAUSES_MS = [10, 50, 250];
const JITTER = 0.1;

/**
 * Runs an attempt up to four times. A single attempt fails if another client writes the same object at the same time.
 * @param isLasting whether an error cannot be overcome by another attempt
 * @throws the last error
 */
export async function withUpdateBackoff(
  { clock, random }: { readonly clock: Pick<Clock, 'setTimer'>; readonly random: Random },
  attempt: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  isLasting: (error: unknown) => boolean = () => false,
): Promise<void> {
  for (const pauseMs of [...PAUSES_MS, undefined]) {
    try {
      return await attempt(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (pauseMs === undefined || isLasting(error)) throw error;
      await sleep(clock, jitter(random, pauseMs, JITTER), signal);
    }
  }
}
