import { type Clock, sleep } from '@node-agent/async';
import { ConnectionFault } from './connection-fault.ts';
import type { RequestFault } from './fault.ts';

const HANG_TIMEOUT_MS = 60_000;

/**
 * Applies the part of a fault that precedes the handling of its request. Faults that only change the response do
 * nothing here.
 * @throws ConnectionFault if the request gets no response; the signal's reason if the signal is aborted
 */
export async function suffer(fault: RequestFault, clock: Clock, signal: AbortSignal): Promise<void> {
  switch (fault.kind) {
    case 'delay':
      return sleep(clock, fault.delayMs, signal);
    case 'hang':
      await sleep(clock, fault.timeoutMs ?? HANG_TIMEOUT_MS, signal);
      throw new ConnectionFault('ECONNRESET', 'no answer came');
    case 'refuse':
      throw new ConnectionFault('ECONNREFUSED', 'injected fault');
    case 'reset':
      throw new ConnectionFault('ECONNRESET', 'injected fault');
  }
}
