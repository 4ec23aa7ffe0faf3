import type { Clock } from '@node-agent/async';
import type { Helper } from './helper-process.ts';
import type { HelperCallName, HelperCalls } from './protocol.ts';

/** Time without progress after which a removal or change of a tree counts as hung. */
export const STALLED_MS = 120_000;

/** A call with a process of its own, and its time limit. */
export interface OneCall<Name extends HelperCallName> {
  readonly name: Name;
  readonly args: HelperCalls[Name]['args'];
  /** Time limit in ms, counted from the start of the call or its last progress message. */
  readonly limitMs: number;
  /** Returns the error for an exceeded limit. */
  readonly late: () => Error;
}

/**
 * Runs one call in a helper process and then kills the process, whatever the result, because the call may never return
 * (W6).
 * @throws the errors of `Helper.call`
 * @throws the error of `late`
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
