import { type ContainerGcPolicy, type GarbageCollectOptions, isRemovable, type PodStateProvider } from './policy.ts';

/** A container as the plan sees it. */
export interface GcContainer {
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  /** Its number among the attempts of its name: it tells their order where the clock was set back. */
  readonly attempt: number;
  readonly createdAtMs: number;
}

/**
 * Which containers go, the oldest first: all dead ones of pods that are gone, then of each container of a pod what is
 * beyond `maxPerPodContainer`, then of the node what is beyond `maxContainers`, spread evenly over the containers
 * (`evictContainers`, `pkg/kubelet/kuberuntime/kuberuntime_gc.go`).
 *
 * C3, C6: the newest record of a container that does not run is kept for as long as its pod may go on, whatever the
 * policy says: without it a container that has done its work, an init container above all, would be started once more.
 *
 * C2: what was created last and has not started is on its way. Unlike upstream it does not count as the newest record,
 * as the one before it is what tells a kubelet that has just started how long a crashing container has to wait.
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
  /** What has ended, newest first, then what was never started and is not the newest. */
  readonly dead: C[];
  /** What was created last and has not started: it goes with its pod only. */
  readonly onItsWay: readonly C[];
  /** How many of the dead must stay while the pod goes on: the newest, unless the container runs. */
  readonly needed: 0 | 1;
}

/** One that was created in the future is of unknown age, as the clock was set back since: it must not stay for that. */
function isTooYoung({ createdAtMs }: GcContainer, { minAgeMs }: ContainerGcPolicy, nowMs: number): boolean {
  return createdAtMs <= nowMs && nowMs - createdAtMs < minAgeMs;
}

/**
 * Of each container of a pod with more than one dead record, all records, the newest first: which of them is the newest that ran decides what
 * goes. None of a container that runs: its record is kept anyway.
 */
export function contestedAttempts<C extends GcContainer>(containers: readonly C[]): readonly (readonly C[])[] {
  return attemptsByUnit(containers).filter(
    (attempts) =>
      attempts.filter(({ state }) => state === 'exited').length > 1 &&
      attempts.every(({ state }) => state !== 'running'),
  );
}

/** The records of each container of each pod, the newest first. */
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

/** @param attempts of one container, newest first */
function toUnit<C extends GcContainer>(attempts: readonly [C, ...C[]], isYoung: (container: C) => boolean): Unit<C> {
  const runs = attempts.some(({ state }) => state === 'running');
  const [newest] = attempts;
  const onItsWay = !runs && newest.state === 'created' && !isYoung(newest) ? [newest] : [];
  const dead = attempts.filter(
    (container) => container.state !== 'running' && !onItsWay.includes(container) && !isYoung(container),
  );
  // One that has run and is too young counts as much as if it was not there, and keeps its elders from being the newest.
  const youngRan = attempts.some((container) => container.state !== 'created' && isYoung(container));
  return {
    podUid: newest.podUid,
    dead: [...dead.filter(({ state }) => state !== 'created'), ...dead.filter(({ state }) => state === 'created')],
    onItsWay,
    needed: runs || youngRan ? 0 : 1,
  };
}
