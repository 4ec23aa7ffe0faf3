import { childPath } from '../path.ts';
import { parseQuantity } from '../quantity.ts';
import { type Rule, type Violation, when } from './rule.ts';

/** Eviction signals (pkg/kubelet/eviction/api/types.go). */
const SIGNALS: readonly string[] = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
];

const signals: Rule = (configuration) => {
  const { evictionHard, evictionSoft, evictionSoftGracePeriodMs, evictionMinimumReclaim } = configuration;
  const maps = {
    evictionHard,
    evictionSoft,
    evictionSoftGracePeriod: evictionSoftGracePeriodMs,
    evictionMinimumReclaim,
  };
  return Object.entries(maps).flatMap(([name, map]) =>
    Object.keys(map).flatMap((signal) =>
      when(
        !SIGNALS.includes(signal),
        childPath(name, signal),
        `is not an eviction signal; the signals are ${SIGNALS.join(', ')}`,
      ),
    ),
  );
};

const thresholds: Rule = ({ evictionHard, evictionSoft }) =>
  Object.entries({ evictionHard, evictionSoft }).flatMap(([name, map]) =>
    Object.entries(map).flatMap(([signal, text]) => amount(childPath(name, signal), text, true)),
  );

const minimumReclaims: Rule = ({ evictionMinimumReclaim }) =>
  Object.entries(evictionMinimumReclaim).flatMap(([signal, text]) =>
    amount(childPath('evictionMinimumReclaim', signal), text, false),
  );

/** Validates a quantity or a percentage. A threshold must be above zero, or 0%, which disables the threshold. */
function amount(path: string, text: string, isThreshold: boolean): readonly Violation[] {
  if (text.endsWith('%')) {
    const percent = text.slice(0, -1);
    const isNumber = /^\+?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(percent);
    // Go parses the percentage as a 32-bit float, so larger numbers are invalid.
    if (!isNumber || !Number.isFinite(Math.fround(Number(percent))))
      return [{ path, message: 'must be a percentage of 0 or more' }];
    return isThreshold
      ? when(Number(percent) > 100, path, 'must be 100% or less')
      : when(Number(percent) === 0, path, 'must be more than 0%');
  }
  const quantity = parseQuantity(text);
  if (quantity === undefined)
    return [{ path, message: 'must be a quantity such as 100Mi, or a percentage such as 10%' }];
  return isThreshold
    ? when(quantity.nanos <= 0n, path, 'must be positive')
    : when(quantity.nanos < 0n, path, 'must not be negative');
}

const gracePeriods: Rule = ({ evictionSoft, evictionSoftGracePeriodMs }) => [
  ...Object.entries(evictionSoft).flatMap(([signal, text]) =>
    // A threshold of 0% or 100% is disabled and needs no grace period.
    when(
      evictionSoftGracePeriodMs[signal] === undefined && text !== '0%' && text !== '100%',
      childPath('evictionSoft', signal),
      'requires a grace period in evictionSoftGracePeriod',
    ),
  ),
  ...Object.entries(evictionSoftGracePeriodMs).flatMap(([signal, periodMs]) =>
    when(periodMs < 0, childPath('evictionSoftGracePeriod', signal), 'must not be negative'),
  ),
];

/** Rules for eviction. Upstream checks these rules when it starts its eviction manager. */
export const evictionRules: readonly Rule[] = [signals, thresholds, minimumReclaims, gracePeriods];
