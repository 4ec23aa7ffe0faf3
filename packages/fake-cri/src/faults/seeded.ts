import type { Random } from '@node-agent/async';
import type { RpcName } from '../core/rpcs.ts';
import type { EventFault, RpcFault } from './fault.ts';
import type { FaultSource } from './injector.ts';

/** How likely what is. All are 0 by default. */
export interface FaultRates {
  /** Of one call, 0 to 1: that it has a fault of any kind. */
  readonly rpc?: number;
  /** Of one event, 0 to 1: that it is dropped, doubled or late. */
  readonly event?: number;
  /** Only these RPCs have faults; all by default. */
  readonly rpcs?: readonly RpcName[];
  /** Which kinds of faults there are; all but `nonsense` by default. */
  readonly kinds?: readonly RpcFault['kind'][];
  /** The longest delay, in milliseconds; 5 s by default. */
  readonly maxDelayMs?: number;
}

const KINDS: readonly RpcFault['kind'][] = ['error', 'delay', 'hang', 'lateSuccess', 'answerLost'];
const CODES = ['UNAVAILABLE', 'UNKNOWN', 'DEADLINE_EXCEEDED', 'INTERNAL'] as const;
const NONSENSE = ['empty', 'noMetadata', 'unknownState', 'noIds', 'noLabels'] as const;

/** Faults by chance: the same ones for the same seed and the same calls. */
export function seededFaults(random: Random, rates: FaultRates): FaultSource {
  const { rpc: rpcRate = 0, event: eventRate = 0, kinds = KINDS, maxDelayMs = 5000, rpcs } = rates;
  const delayMs = (): number => Math.floor(random.next() * maxDelayMs);
  const pick = <T>(items: readonly [T, ...T[]] | readonly T[]): T | undefined =>
    items[Math.floor(random.next() * items.length)];
  const fault = (kind: RpcFault['kind'] | undefined): RpcFault | undefined => {
    switch (kind) {
      case 'error':
        return { kind, code: pick(CODES) ?? 'UNKNOWN' };
      case 'delay':
        return { kind, delayMs: delayMs() };
      case 'hang':
        return { kind };
      case 'lateSuccess':
        return { kind, timeoutMs: delayMs(), workDelayMs: delayMs() };
      case 'answerLost':
        return { kind };
      case 'nonsense':
        return { kind, nonsense: pick(NONSENSE) ?? 'empty' };
      default:
        return undefined;
    }
  };
  return {
    nextRpcFault(rpc) {
      if (rpcs !== undefined && !rpcs.includes(rpc)) return undefined;
      return random.next() < rpcRate ? fault(pick(kinds)) : undefined;
    },
    nextEventFault(): EventFault | undefined {
      if (random.next() >= eventRate) return undefined;
      const kind = pick(['drop', 'duplicate', 'delay'] as const);
      return kind === 'delay' ? { kind, delayMs: delayMs() } : kind && { kind };
    },
  };
}
