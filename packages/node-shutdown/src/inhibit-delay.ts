import { type Clock, sleep } from '@node-agent/async';
import { goDuration, type Logger } from '@node-agent/telemetry';
import { type OverrideFiles, writeDelayOverride } from './delay-override.ts';
import { NodeShutdownError } from './errors.ts';
import type { LogindSession } from './logind.ts';

interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fs: OverrideFiles;
}

const FIRST_WAIT_MS = 100;
const MAX_ATTEMPTS = 5;

/**
 * Ensures that a shutdown can be delayed for `requestedMs`. If logind allows less, logind's configuration is changed
 * and reloaded. Then the allowed delay is read again until it suffices: after 0.1 s, 0.2 s and so on, five times in all
 * (`start` of upstream's `nodeshutdown_manager_linux.go`).
 * @throws NodeShutdownError `Logind`, `Override`, `InhibitDelay`; the signal's reason
 */
export async function ensureInhibitDelay(
  { clock, logger, fs }: Components,
  session: LogindSession,
  requestedMs: number,
  signal: AbortSignal,
): Promise<void> {
  let currentMs = await session.inhibitDelayMs(signal);
  if (requestedMs <= currentMs) return;
  await writeDelayOverride(fs, requestedMs);
  await session.reloadConfiguration(signal);
  const requested = goDuration(requestedMs);
  for (let attempt = 1; ; attempt++) {
    currentMs = await session.inhibitDelayMs(signal);
    if (requestedMs <= currentMs) return;
    const current = goDuration(currentMs);
    if (attempt === MAX_ATTEMPTS) {
      const message = `node shutdown manager was timed out after ${attempt} attempts waiting for logind InhibitDelayMaxSec to update to ${requested} (ShutdownGracePeriod), current value is ${current}`;
      throw new NodeShutdownError('InhibitDelay', message);
    }
    logger.debug({ attempt, current, requested }, 'InhibitDelayMaxSec still less than requested, retrying');
    await sleep(clock, FIRST_WAIT_MS * 2 ** (attempt - 1), signal);
  }
}
