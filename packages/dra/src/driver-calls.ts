import type { ClaimInfo } from './claim-info.ts';
import type { DraPlugin } from './dra-plugin.ts';
import type { DraPlugins } from './dra-plugins.ts';
import type { DriverClaim } from './driver-answers.ts';
import type { ClaimWait, NotedWait } from './noted-wait.ts';

/** Groups claims by driver. Each group is passed to its driver in one call. */
export function claimsByDriver(infos: readonly ClaimInfo[]): ReadonlyMap<string, readonly DriverClaim[]> {
  const batches = new Map<string, DriverClaim[]>();
  for (const { uid, name, namespace, drivers } of infos) {
    for (const driver of drivers.keys()) {
      const claims = batches.get(driver) ?? [];
      batches.set(driver, claims);
      claims.push({ uid, name, namespace });
    }
  }
  return batches;
}

/** Outcome of the driver calls for one pod. */
export interface CallOutcome<T> {
  /** Results of the successful calls, by driver. */
  readonly results: ReadonlyMap<string, T>;
  /** Error of the failed call whose driver comes first by name. `undefined` if all calls succeeded. */
  readonly failure: { readonly error: unknown } | undefined;
}

/**
 * Calls all drivers of a pod's claims concurrently. A driver that fails or hangs does not delay the calls of other
 * drivers.
 */
export async function callDrivers<T>(
  { plugins, noted }: { readonly plugins: Pick<DraPlugins, 'get'>; readonly noted: NotedWait },
  { podUid, step }: Pick<ClaimWait, 'podUid' | 'step'>,
  batches: ReadonlyMap<string, readonly DriverClaim[]>,
  call: (plugin: DraPlugin, claims: readonly DriverClaim[]) => Promise<T>,
  signal: AbortSignal,
): Promise<CallOutcome<T>> {
  const drivers = [...batches.keys()].sort();
  const chosen = drivers.map((driver) => chosenPlugin(plugins, driver));
  const results = new Map<string, T>();
  const called = async (plugin: Chosen): Promise<void> => {
    if ('error' in plugin) throw plugin.error;
    results.set(plugin.driver, await call(plugin, batches.get(plugin.driver) ?? []));
  };
  const work = async (): Promise<void> => {
    const outcomes = await Promise.allSettled(chosen.map(called));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  const rpc = step === 'prepare' ? 'NodePrepareResources' : 'NodeUnprepareResources';
  const places = chosen.flatMap((plugin) => ('error' in plugin ? [] : [`${plugin.driver} at ${plugin.endpoint}`]));
  try {
    await (places.length === 0
      ? work()
      : noted({ podUid, step, what: `${rpc} of ${places.join(', ')}` }, work, signal));
    return { results, failure: undefined };
  } catch (error) {
    return { results, failure: { error } };
  }
}

type Chosen = DraPlugin | { readonly error: unknown };

function chosenPlugin(plugins: Pick<DraPlugins, 'get'>, driver: string): Chosen {
  try {
    return plugins.get(driver);
  } catch (error) {
    return { error };
  }
}
