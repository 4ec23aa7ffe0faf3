import { errorText } from '@node-agent/telemetry';
import { KubeletError } from '../errors.ts';
import type { BackgroundService } from '../ports.ts';

/**
 * Runs a service until `signal` is aborted.
 * @throws KubeletError `ServiceEnded`, naming the service, if the service fails before that
 */
export async function runService(service: BackgroundService, signal: AbortSignal): Promise<void> {
  try {
    await service.start(signal);
  } catch (err) {
    if (signal.aborted) return;
    throw new KubeletError('ServiceEnded', `${service.name} ended: ${errorText(err)}`, { cause: err });
  }
}
