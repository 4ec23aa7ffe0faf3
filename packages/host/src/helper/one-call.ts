import type { Clock } from '@node-agent/async';
import type { Helper } from './helper-process.ts';
import type { HelperCallName, HelperCalls } from './protocol.ts';

/** A tree is waited for so long without any progress before it is taken to hang. */
export const STALLED_MS = 120_000;

/** A call that has a process to itself, and how long that is waited for. */
export interface OneCall<Name extends HelperCallName> {
  readonly name: Name;
  readonly args: HelperCalls[Name]['args'];
  /** From its beginning or from its last progress. */
  readonly limitMs: number;
  /** What it fails with where that has passed. */
  readonly late: () => Error;
}

/**
 * Has a process of its own do one thing, which is ended with it, whatever came of it: what it does may never return (W6).
 * @throws as `Helper.call`, and what is late
 */
export async function callOnce<Name extends HelperCallName>(
  { clock, startHelper }: { readonly clock: Pick<Clock, 'setTimer'>; readonly startHelper: () => Helper },
  { name, args, limitMs, late }: OneCall<Name>,
): Promise<HelperCalls[Name]['value']> {
  const helper = startHelper();
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  const watch = () => clock.setTimer(limitMs, () => reject(late()));
  let timer = watch();
  try {
    const answer = helper.call(name, args, () => {
      timer.cancel();
      timer = watch();
    });
    return await Promise.race([answer, isLate]);
  } finally {
    timer.cancel();
    helper.kill();
  }
}
