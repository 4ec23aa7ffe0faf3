import { oncePer, type RuntimeContainerStatus } from '@node-agent/pod-spec';

type Attempt = Pick<RuntimeContainerStatus, 'state' | 'restartCount' | 'createdAtMs' | 'id'>;

/**
 * Orders the attempts of one container, the one that counts first: what runs, then by attempt number, then by age.
 *
 * Not simply the newest, as upstream has it: a CreateContainer whose answer was lost can leave, late, a container that
 * is newer than the one that runs. Taken for the current one it would be started beside it (C1).
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

/** Containers are looked at one by one, of which a pod may have thousands. */
const byName = oncePer(
  (statuses: readonly Named[]): ReadonlyMap<string, readonly Named[]> => Map.groupBy(statuses, (status) => status.name),
);

/** All attempts of a container, in the order of the list. */
export function attemptsOf<T extends Named>(statuses: readonly T[], name: string): readonly T[] {
  return (byName(statuses).get(name) ?? []) as readonly T[];
}

/** The attempt of a container that counts; `undefined` where the runtime knows none. */
export function currentStatus<T extends Named>(statuses: readonly T[], name: string): T | undefined {
  let best: T | undefined;
  for (const status of attemptsOf(statuses, name)) {
    if (best === undefined || byPrecedence(status, best) < 0) best = status;
  }
  return best;
}
