import { oncePer, type RuntimeContainerStatus } from '@node-agent/pod-spec';

type Attempt = Pick<RuntimeContainerStatus, 'state' | 'restartCount' | 'createdAtMs' | 'id'>;

/**
 * Orders the attempts of one container, the current one first: running attempts, then by attempt number, then by age.
 *
 * Upstream takes the newest attempt as the current one. Age alone is not enough: a CreateContainer call whose response
 * was lost can leave a container that is newer than the running container. If the newer container counted as the
 * current attempt, it would be started beside the running container (C1).
 */
export function byPrecedence(a: Attempt, b: Attempt): number {
  return (
    Number(b.state === 'running') - Number(a.state === 'running') ||
    b.restartCount - a.restartCount ||
    b.createdAtMs - a.createdAtMs ||
    (a.id < b.id ? -1 : Number(a.id > b.id))
  );
}

type Named = Attempt & { readonly name: string };

/**
 * Returns the statuses of each container by name. Indexed, because containers are looked up one by one and a pod may
 * have thousands.
 */
const byName = oncePer(
  (statuses: readonly Named[]): ReadonlyMap<string, readonly Named[]> => Map.groupBy(statuses, (status) => status.name),
);

/** Returns all attempts of a container, in list order. */
export function attemptsOf<T extends Named>(statuses: readonly T[], name: string): readonly T[] {
  return (byName(statuses).get(name) ?? []) as readonly T[];
}

/** Returns the current attempt of a container; `undefined` if the runtime has none. */
export function currentStatus<T extends Named>(statuses: readonly T[], name: string): T | undefined {
  let best: T | undefined;
  for (const status of attemptsOf(statuses, name)) {
    if (best === undefined || byPrecedence(status, best) < 0) best = status;
  }
  return best;
}
