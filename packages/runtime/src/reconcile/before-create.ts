import type { RuntimeContainer, RuntimeContainerStatus } from '@node-agent/pod-spec';
import { attemptAfter } from '../actions/prune-rule.ts';

/** A container of the pod, as it is listed just now. */
export interface ListedContainer extends RuntimeContainer {
  /** It is `created` because its start was broken off, and the runtime has done with it: it can come alive no more. */
  readonly startOver?: boolean;
}

/** What is to be done before a container is created, by what the runtime has of its name at that very moment. */
export type BeforeCreate =
  /** One runs already: a start whose answer was lost went through. Nothing is created. */
  | { readonly kind: 'running'; readonly id: string }
  /**
   * `stop` may run and is stopped, then `remove` was never started and is removed; should either fail, nothing is
   * created, but beside what has its start over. Then one is created as the attempt `attempt`; `undefined`: as the log
   * directory says.
   */
  | {
      readonly kind: 'create';
      readonly stop: readonly string[];
      readonly remove: readonly Pick<ListedContainer, 'id' | 'restartCount' | 'startOver'>[];
      readonly attempt: number | undefined;
    };

/**
 * C6: of the containers that have ended, listed just now, the one that had not run when the pod was looked at: a start that came
 * late. That it is to run again was not decided with its end in mind.
 * @param known the pod's containers as they were looked at
 */
export function endedUnseen(
  containers: readonly RuntimeContainer[],
  known: readonly Pick<RuntimeContainerStatus, 'id' | 'state'>[],
): RuntimeContainer | undefined {
  const waiting = new Set(known.filter(({ state }) => state === 'created').map(({ id }) => id));
  return containers.find(({ id, state }) => state === 'exited' && waiting.has(id));
}

/**
 * C1: at most one container of a name lives in a pod, even where an answer was lost or the kubelet died half-way.
 *
 * - What runs is kept, and nothing is created beside it.
 * - What was created and never started is removed first. It may be what a CreateContainer with a lost answer left, or
 *   a StartContainer with a lost answer may still be at work on it: then the runtime refuses to remove it, and the
 *   next sync finds it running. Where its start is over it stays and takes its number along: containerd 1.6 cannot
 *   remove one whose task it made while nobody waited for it any more. One below the number that is tried now was given up: it stays.
 * - The new attempt's number is one more than the highest that has run. What never started is created again under the
 *   same number, so that the runtime refuses the second of two that race; it never falls below that, even where the
 *   records of those that ran are gone.
 * @param containers the pod's containers, listed just now
 * @param tried the number that was tried last without success: it is tried again, not skipped
 */
export function beforeCreate(
  containers: readonly ListedContainer[],
  name: string,
  tried: number | undefined,
): BeforeCreate {
  const sameName = containers.filter((container) => container.name === name);
  const running = sameName.find(({ state }) => state === 'running');
  if (running !== undefined) return { kind: 'running', id: running.id };
  const stop = sameName.filter(({ state }) => state === 'unknown').map(({ id }) => id);
  const least = sameName.map(attemptAfter);
  const attempt = least.length > 0 ? Math.max(...least, tried ?? 0) : tried;
  const remove = sameName
    .filter(({ state, restartCount }) => state === 'created' && restartCount >= (tried ?? 0))
    .map(({ id, restartCount, startOver }) => ({ id, restartCount, ...(startOver && { startOver }) }));
  return { kind: 'create', stop, remove, attempt };
}
