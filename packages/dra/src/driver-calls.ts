import type { ClaimInfo } from './claim-info.ts';
import type { DraPlugin } from './dra-plugin.ts';
import type { DraPlugins } from './dra-plugins.ts';
import type { DriverClaim } from './driver-answers.ts';
import type { ClaimWait, NotedWait } from './noted-wait.ts';

/** Returns the claims for each driver's call. */
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

/** Outcome of the calls of one pod. */
export interface CallOutcome<T> {
  /** Result by driver, of the calls that succeeded. */
  readonly results: ReadonlyMap<string, T>;
  /** Error of the first driver by name whose call failed; `undefined` if all succeeded. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** Calls all drivers of a pod at the same time; one that fails or hangs does not keep the others from being called. */
export async function callDrivers<T>(
  { plugins, noted }: { readonly plugins: Pick<DraPlugins, 'get'>; readonly noted: NotedWait },
  { podUid, step }: Pick<ClaimWait, 'podUid' | 'step'>,
  batches: ReadonlyMap<string, readonly DriverClaim[]>,
  call: (plugin: DraPlugin, claims: readonly DriverClaim[]) => Promise<T>,
  signal: AbortSignal,
): Promise<CallOutcome<T>> {
  const rpc = step === 'prepare' ? 'NodePrepareResources' : 'NodeUnprepareResources';
  const drivers = [...batches].sort(([a], [b]) => (a < b ? -1 : 1));
  const outcomes = await Promise.allSettled(
    drivers.map(async ([driver, claims]) => {
      const plugin = plugins.get(driver);
      const what = `${driver}: ${rpc} of the DRA driver at ${plugin.endpoint}`;
      return [driver, await noted({ podUid, step, what }, () => call(plugin, claims), signal)] as const;
    }),
  );
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  return {
    results: new Map(outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))),
    failure: failed && { error: failed.reason },
  };
}
