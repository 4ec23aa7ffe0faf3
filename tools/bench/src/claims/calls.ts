import type { LoggedCall } from '@node-agent/tools-csi-driver';

/** Number of calls by RPC name. */
export type CallCounts = Readonly<Record<string, number>>;

/** RPCs that the bench itself calls to create volumes and to see whether the driver serves. */
const OF_BENCH = /^(Controller|CreateVolume)/;

/** Counts the calls of a driver's log that began within a time, given in ms since 1970. */
export function countCalls(calls: readonly LoggedCall[], fromMs: number, untilMs: number): CallCounts {
  const counts: Record<string, number> = {};
  for (const { rpc, startedAtMs } of calls) {
    if (OF_BENCH.test(rpc) || startedAtMs < fromMs || startedAtMs >= untilMs) continue;
    counts[rpc] = (counts[rpc] ?? 0) + 1;
  }
  return counts;
}
