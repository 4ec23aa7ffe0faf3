export { abortable, type LinkedAbort, linkAbort, untilAborted } from './abort.ts';
export { allOf } from './all-of.ts';
export { Backoff, type BackoffOptions } from './backoff.ts';
export { brand, hasBrand } from './brand.ts';
export { Channel } from './channel.ts';
export {
  type ComponentRule,
  type ComponentRules,
  checkComponents,
  checkOptions,
  type OptionRule,
  type OptionRules,
  type TypeRule,
} from './check-arguments.ts';
export { checkNumbers, type NumberRule, numberProblem } from './check-numbers.ts';
export { type Clock, sleep, sleepUntilNext, systemClock, type Timer, untilNextMs } from './clock.ts';
export { CoalescingQueue } from './coalescing-queue.ts';
export { encodePortions } from './encode-portions.ts';
export { AsyncError, type AsyncErrorCode } from './errors.ts';
export { type EveryOptions, every } from './every.ts';
export { KeyedMutex } from './keyed-mutex.ts';
export { type GateTurn, LendingGate, type LendingGateOptions } from './lending-gate.ts';
export { OptionsError } from './options-error.ts';
export { jitter, type Random, seededRandom, systemRandom } from './random.ts';
export { Receiver } from './receiver.ts';
export { Semaphore } from './semaphore.ts';
export { StartOnce } from './start-once.ts';
export { TaskGroup } from './task-group.ts';
export { TimeSlice, type TimeSliceOptions } from './time-slice.ts';
export { withTimeout } from './timeout.ts';
export { filledLevel, TokenBucket, type TokenLevel, type TokenRate } from './token-bucket.ts';
export { WorkQueue } from './work-queue.ts';
