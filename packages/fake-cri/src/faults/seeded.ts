import type { Random } from '@node-agent/async';
import type { RpcName } from '../core/rpcs.ts';
import type { EventFault, RpcFault } from './fault.ts';
import type { FaultSource } from './injector.ts';

/** Fault probabilities. Default: all 0. */
export interface FaultRates {
  /** Probability (0 to 1) that a call has a fault of any kind. */
  readonly rpc?: number;
  /** Probability (0 to 1) that an event is dropped, duplicated or delayed. */
  readonly event?: number;
  /** The RPCs that can have faults. Default: all. */
  readonly rpcs?: readonly RpcName[];
  /** The kinds of faults to inject. Default: all but `nonsense`. */
  readonly kinds?: readonly RpcFault['kind'][];
  /** Maximum delay by a fault, in milliseconds. Default: 5 s. */
  readonly maxDelayMs?: number;
}

const KINDS: readonly RpcFault['kind'][] = ['error', 'delay', 'hang', 'lateSuccess', 'answerLost'];
const CODES = ['UNAVAILABLE', 'UNKNOWN', 'DEADLINE_EXCEEDED', 'INTERNAL'] as const;
const NONSENSE = ['empty', 'noMetadata', 'unknownState', 'noIds', 'noLabels'] as const;

/** Returns a source of random faults. The same seed and the same calls give the same faults. */
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
