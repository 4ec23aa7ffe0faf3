import type { RuntimeContainer, RuntimeContainerStatus } from '@node-agent/pod-spec';
import { attemptAfter } from '../actions/prune-rule.ts';

/** A container of the pod, as just listed. */
export interface ListedContainer extends RuntimeContainer {
  /**
   * Whether the container is `created` because its start was interrupted and the runtime has finished with it, so it
   * can never start running.
   */
  readonly startOver?: boolean;
}

/** Action before a container is created, based on the containers of its name at that moment. */
export type BeforeCreate =
  /** A container already runs, because a start whose response was lost has completed. No container is created. */
  | { readonly kind: 'running'; readonly id: string }
  /**
   * First, the containers in `stop`, which may be running, are stopped. Then the containers in `remove`, which never
   * started, are removed. If a stop or removal fails, no container is created. Exception: the removal of a container
   * with `startOver` may fail, because that container can never run. Finally, a container is created with the number
   * `attempt`; `undefined`: the number is taken from the log directory.
   */
  | {
      readonly kind: 'create';
      readonly stop: readonly string[];
      readonly remove: readonly Pick<ListedContainer, 'id' | 'restartCount' | 'startOver'>[];
      readonly attempt: number | undefined;
    };

/**
 * C6: returns the exited container, if any, that had not run when the pod's status was read, because its start
 * completed late. The decision to start the container again was made without knowledge of this exit.
 * @param known the pod's containers when its status was read
 */
export function exitedUnobserved(
  containers: readonly RuntimeContainer[],
  known: readonly Pick<RuntimeContainerStatus, 'id' | 'state'>[],
): RuntimeContainer | undefined {
  const waiting = new Set(known.filter(({ state }) => state === 'created').map(({ id }) => id));
  return containers.find(({ id, state }) => state === 'exited' && waiting.has(id));
}

/**
 * C1: ensures that at most one container of a name runs in a pod, even if a response was lost or the kubelet died
 * half-way.
 *
 * - A running container is kept, and nothing is created beside it.
 * - A container that was created and never started is removed first. Such a container may come from a CreateContainer
 *   call whose response was lost. If a StartContainer call for such a container is still in progress, the runtime
 *   refuses to remove the container, and the next sync finds it running. If the start has ended but the container
 *   cannot be removed, the container stays and its number is not used again: containerd 1.6 cannot remove a container
 *   whose task it created after the call was cancelled. Containers with attempt numbers below `tried` were given up
 *   earlier and stay.
 * - The number of the new attempt is one above the highest number of an attempt that has run. A container that never
 *   started is created again with the same number, so that the runtime rejects the second of two concurrent creations.
 *   The attempt number never decreases, even if the records of earlier runs were removed.
 * @param containers the pod's containers, just listed
 * @param tried attempt number that was last tried without success; this number is tried again, not skipped
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
