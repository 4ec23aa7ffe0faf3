import { type Clock, sleep } from '@node-agent/async';
import { ConnectionFault } from './connection-fault.ts';
import type { RequestFault } from './fault.ts';

const HANG_TIMEOUT_MS = 60_000;

/**
 * What a fault does before its request is looked at: some only to what is answered, and so nothing here.
 * @throws ConnectionFault where nobody will be answered; the signal's reason
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
