import type { Random } from '@node-agent/async';
import type { RequestAttributes, RequestFault, Verb, WatchFault } from './fault.ts';
import type { FaultSource } from './injector.ts';

/** Fault probabilities. Default: all 0. */
export interface FaultRates {
  /** Probability (0 to 1) that a request other than a watch has a fault of any kind. */
  readonly request?: number;
  /** Probability (0 to 1) that a watch is cut, ended, hung or expired after some time. */
  readonly watch?: number;
  /** The verbs that can have faults. Default: all. */
  readonly verbs?: readonly Verb[];
  /** The kinds of faults to inject. Default: all but `refuse`, `truncate` and `stale`. */
  readonly kinds?: readonly RequestFault['kind'][];
  /** Maximum delay by a fault, in milliseconds. Default: 5 s. */
  readonly maxDelayMs?: number;
  /** Maximum time from the start of a watch to its fault, in milliseconds. Default: 60 s. */
  readonly maxWatchMs?: number;
}

const KINDS: readonly RequestFault['kind'][] = ['delay', 'status', 'hang', 'reset', 'answerLost'];
const CODES = [429, 500, 503, 504] as const;
const WATCH_KINDS: readonly WatchFault['kind'][] = ['cut', 'end', 'hang', 'expire', 'garble'];

/** Returns a source of random faults. The same seed and the same requests give the same faults. */
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
