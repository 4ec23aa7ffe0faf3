import type { ClaimCache } from './claim-cache.ts';
import type { ClaimInfo } from './claim-info.ts';
import type { ClaimLocks } from './claim-locks.ts';
import type { DraPlugin } from './dra-plugin.ts';
import type { DraPlugins } from './dra-plugins.ts';
import type { DriverClaim } from './driver-answers.ts';
import type { ClaimWait, NotedWait } from './noted-wait.ts';

/** Dependencies of {@link callDrivers}. */
export interface DriverCallParts {
  readonly cache: ClaimCache;
  readonly locks: ClaimLocks;
  readonly plugins: Pick<DraPlugins, 'get'>;
  readonly noted: NotedWait;
}

/** A step of a pod for which the drivers of its claims are called. */
export interface DriverStep<T> extends Pick<ClaimWait, 'podUid' | 'step'> {
  /** Returns whether a driver must be called for a claim. */
  isDue(info: ClaimInfo, driver: string): boolean;
  /** Returns the state of a claim for which a driver is about to be called. */
  starting(info: ClaimInfo, driver: string): ClaimInfo;
  call(plugin: DraPlugin, claims: readonly DriverClaim[]): Promise<T>;
  /** Returns the state of a claim after a successful call. */
  finished(info: ClaimInfo, driver: string, result: T): ClaimInfo;
}

/**
 * Calls all drivers for which a step is due, concurrently, each once for all claims. A driver that fails or hangs does not
 * delay the calls of other drivers, whether for this pod or for a pod that shares its claims. @throws the error of the
 * failed call whose driver comes first by name
 */
export async function callDrivers<T>(
  parts: DriverCallParts,
  step: DriverStep<T>,
  claims: readonly ClaimInfo[],
  signal: AbortSignal,
): Promise<void> {
  const drivers = [...new Set(claims.flatMap((claim) => [...claim.drivers.keys()]))].sort();
  const batches = drivers
    .map((driver) => [driver, dueClaims(parts, step, driver, claims)] as const)
    .filter(([, due]) => due.length > 0);
  const work = async (): Promise<void> => {
    const outcomes = await Promise.allSettled(
      batches.map(([driver, due]) => parts.locks.run(driver, due, () => callDriver(parts, step, driver, due), signal)),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  const { podUid, step: name } = step;
  const rpc = name === 'prepare' ? 'NodePrepareResources' : 'NodeUnprepareResources';
  const places = batches.flatMap(([driver]) => placeOf(parts, driver));
  await (places.length === 0
    ? work()
    : parts.noted({ podUid, step: name, what: `${rpc} of ${places.join(', ')}` }, work, signal));
}

/** Calls a driver once for the claims that are still due. The caller must have locked the claims for the driver. */
async function callDriver<T>(
  parts: DriverCallParts,
  step: DriverStep<T>,
  driver: string,
  claims: readonly ClaimInfo[],
): Promise<void> {
  const { cache, plugins } = parts;
  // While this pod waited for the lock, a claim may have been prepared for another pod, or recorded for one.
  const due = dueClaims(parts, step, driver, claims);
  if (due.length === 0) return;
  const plugin = plugins.get(driver);
  for (const info of due) cache.set(step.starting(info, driver));
  const batch = due.map(({ uid, name, namespace }) => ({ uid, name, namespace }));
  const result = await step.call(plugin, batch);
  for (const info of due) cache.update(info, (now) => step.finished(now, driver, result));
}

/** Returns the current states of those claims for which a driver must be called. */
function dueClaims<T>(
  { cache }: Pick<DriverCallParts, 'cache'>,
  step: DriverStep<T>,
  driver: string,
  claims: readonly ClaimInfo[],
): readonly ClaimInfo[] {
  const current = claims.flatMap((claim) => cache.current(claim) ?? []);
  return current.filter((info) => info.drivers.has(driver) && step.isDue(info, driver));
}

/** Returns the place of a driver for the description of a wait, or an empty list if the driver has no plugin. */
function placeOf({ plugins }: Pick<DriverCallParts, 'plugins'>, driver: string): readonly string[] {
  try {
    return [`${driver} at ${plugins.get(driver).endpoint}`];
  } catch {
    return [];
  }
}
