import type { Clock } from '@node-agent/async';
import type { ConnectionLedger } from './connection-ledger.ts';

/** Closes a server. Streams get `closingMs` to end; then all remaining connections are destroyed. */
export async function closeServer(
  server: { close(closed: () => void): unknown },
  ledger: Pick<ConnectionLedger, 'end' | 'destroy'>,
  clock: Clock,
  closingMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  ledger.end();
  const late = clock.setTimer(closingMs, () => ledger.destroy());
  await closed;
  late.cancel();
}
