import type { Random } from '@node-agent/async';
import type { RequestAttributes, RequestFault, Verb, WatchFault } from './fault.ts';
import type { FaultSource } from './injector.ts';

/** How likely what is. All are 0 by default. */
export interface FaultRates {
  /** Of one request that is no watch, 0 to 1: that it has a fault of any kind. */
  readonly request?: number;
  /** Of one watch, 0 to 1: that it is cut, ended, hung or expires after a while. */
  readonly watch?: number;
  /** Only these verbs have faults; all by default. */
  readonly verbs?: readonly Verb[];
  /** Which kinds of faults there are; all but `refuse`, `truncate` and `stale` by default. */
  readonly kinds?: readonly RequestFault['kind'][];
  /** The longest delay, in milliseconds; 5 s by default. */
  readonly maxDelayMs?: number;
  /** The longest that a watch lasts before its fault, in milliseconds; 60 s by default. */
  readonly maxWatchMs?: number;
}

const KINDS: readonly RequestFault['kind'][] = ['delay', 'status', 'hang', 'reset', 'answerLost'];
const CODES = [429, 500, 503, 504] as const;
const WATCH_KINDS: readonly WatchFault['kind'][] = ['cut', 'end', 'hang', 'expire', 'garble'];

/** Faults by chance: the same ones for the same seed and the same requests. */
export function seededFaults(random: Random, rates: FaultRates): FaultSource {
  const { request: requestRate = 0, watch: watchRate = 0, verbs, kinds = KINDS } = rates;
  const { maxDelayMs = 5000, maxWatchMs = 60_000 } = rates;
  const upTo = (limit: number): number => Math.floor(random.next() * limit);
  const pick = <T>(items: readonly T[]): T | undefined => items[upTo(items.length)];
  const fault = (kind: RequestFault['kind'] | undefined): RequestFault | undefined => {
    switch (kind) {
      case 'delay':
        return { kind, delayMs: upTo(maxDelayMs) };
      case 'status': {
        const code = pick(CODES) ?? 500;
        return code === 429 ? { kind, code, retryAfterSeconds: 1 + upTo(3) } : { kind, code };
      }
      case 'hang':
        return { kind, timeoutMs: upTo(maxDelayMs) };
      case 'stale':
        return { kind, revisionsBehind: 1 + upTo(20) };
      case 'truncate':
      case 'refuse':
      case 'reset':
      case 'answerLost':
        return { kind };
      default:
        return undefined;
    }
  };
  return {
    nextFault({ verb }: RequestAttributes) {
      if (verbs !== undefined && !verbs.some((one) => one === verb)) return undefined;
      if (verb !== 'watch') return random.next() < requestRate ? fault(pick(kinds)) : undefined;
      if (random.next() >= watchRate) return undefined;
      return { kind: 'watch', watch: { kind: pick(WATCH_KINDS) ?? 'cut', afterMs: upTo(maxWatchMs) } };
    },
  };
}
