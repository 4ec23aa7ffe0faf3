import { type ContainerGcPolicy, type GarbageCollectOptions, isRemovable, type PodStateProvider } from './policy.ts';

/** The data of a container that the plan needs. */
export interface GcContainer {
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  /** Attempt number, which orders the attempts of a container even if the clock was set back. */
  readonly attempt: number;
  readonly createdAtMs: number;
}

/**
 * Returns the containers to remove, the oldest first: all dead containers of removed pods, then for each container of a
 * pod those beyond `maxPerPodContainer`, then those beyond the node's `maxContainers`, spread evenly over the
 * containers (`evictContainers`, `pkg/kubelet/kuberuntime/kuberuntime_gc.go`).
 *
 * C3, C6: the newest record of a container that is not running is kept as long as its pod may continue, regardless of
 * the policy. Without this record, a completed container, in particular an init container, would be started again.
 *
 * C2: the newest record is skipped if it was created but not started, because its start may be in progress. Unlike
 * upstream, a record that was created but not started does not count as the newest record: a kubelet that was just
 * started needs the record before it for the back-off of a crashing container.
 */
export function planContainerGc<C extends GcContainer>(
  containers: readonly C[],
  policy: ContainerGcPolicy,
  nowMs: number,
  pods: PodStateProvider,
  options: GarbageCollectOptions,
): readonly C[] {
  const removed: C[] = [];
  const units: Unit<C>[] = [];
  const isYoung = (container: C): boolean => isTooYoung(container, policy, nowMs);
  for (const attempts of attemptsByUnit(containers)) {
    const unit = toUnit(attempts, isYoung);
    const gone = isRemovable(unit.podUid, pods, options.evictNonDeletedPods);
    if (gone && options.allSourcesReady) removed.push(...unit.dead.reverse(), ...unit.onItsWay);
    else if (unit.dead.length > 0) units.push(unit);
  }
  const shrink = (limit: number): void => {
    for (const { dead, needed } of units) removed.push(...dead.splice(Math.max(limit, needed)).reverse());
  };
  const count = (): number => units.reduce((sum, { dead }) => sum + dead.length, 0);

  if (policy.maxPerPodContainer >= 0) shrink(policy.maxPerPodContainer);
  if (policy.maxContainers >= 0 && count() > policy.maxContainers) {
    shrink(Math.max(Math.floor(policy.maxContainers / units.length), 1));
    const spare = units.flatMap(({ dead, needed }) => dead.slice(needed)).sort(newestFirst);
    const excess = Math.min(count() - policy.maxContainers, spare.length);
    if (excess > 0) removed.push(...spare.slice(-excess).reverse());
  }
  return removed;
}

/** The records of one container of one pod. */
interface Unit<C> {
  readonly podUid: string;
  /** Records that have terminated, newest first, then records that were never started and are not the newest. */
  readonly dead: C[];
  /** The newest record if it was created but not started. This record is removed only together with its pod. */
  readonly onItsWay: readonly C[];
  /** Number of dead records to keep while the pod continues: the newest, unless the container is running. */
  readonly needed: 0 | 1;
}

/**
 * Returns whether a container has not reached the minimum age. A container with a creation time in the future counts as
 * old enough: its age is unknown, because the clock was set back.
 */
function isTooYoung({ createdAtMs }: GcContainer, { minAgeMs }: ContainerGcPolicy, nowMs: number): boolean {
  return createdAtMs <= nowMs && nowMs - createdAtMs < minAgeMs;
}

/**
 * Returns all records of each container that has more than one dead record, newest first. The caller must find out
 * which of these records never ran, because the newest record that ran is kept and older ones are removed. Containers
 * with a running record are omitted: that record is kept, and all others are removable.
 */
export function contestedAttempts<C extends GcContainer>(containers: readonly C[]): readonly (readonly C[])[] {
  return attemptsByUnit(containers).filter(
    (attempts) =>
      attempts.filter(({ state }) => state === 'exited').length > 1 &&
      attempts.every(({ state }) => state !== 'running'),
  );
}

/** Returns the records of each container of each pod, newest first. */
function attemptsByUnit<C extends GcContainer>(containers: readonly C[]): readonly [C, ...C[]][] {
  const units = new Map<string, [C, ...C[]]>();
  for (const container of containers) {
    const key = `${container.podUid}/${container.name}`;
    const unit = units.get(key);
    if (unit === undefined) units.set(key, [container]);
    else unit.push(container);
  }
  return Array.from(units.values(), (unit) => unit.sort(newestAttemptFirst));
}

function newestAttemptFirst(a: GcContainer, b: GcContainer): number {
  return b.attempt - a.attempt || newestFirst(a, b);
}

function newestFirst(a: GcContainer, b: GcContainer): number {
  return b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1);
}

/**
 * Divides the records of one container into those that may be removed and those that must be kept.
 * @param attempts records of one container, newest first
 */
function toUnit<C extends GcContainer>(attempts: readonly [C, ...C[]], isYoung: (container: C) => boolean): Unit<C> {
  const runs = attempts.some(({ state }) => state === 'running');
  const [newest] = attempts;
  const onItsWay = !runs && newest.state === 'created' && !isYoung(newest) ? [newest] : [];
  const dead = attempts.filter(
    (container) => container.state !== 'running' && !onItsWay.includes(container) && !isYoung(container),
  );
  // A record that has run and is too young counts as absent, and prevents older records from counting as the newest.
  const youngRan = attempts.some((container) => container.state !== 'created' && isYoung(container));
  return {
    podUid: newest.podUid,
    dead: [...dead.filter(({ state }) => state !== 'created'), ...dead.filter(({ state }) => state === 'created')],
    onItsWay,
    needed: runs || youngRan ? 0 : 1,
  };
}
