import type { CsiVolumeStats } from '@node-agent/contracts';
import type { VolumeMeasurement } from '../manager/plugin.ts';
import type { CsiCalls } from './csi-calls.ts';
import type { CsiIdentity } from './csi-names.ts';
import { usageOf } from './usage-rule.ts';

/**
 * Returns the usage of a volume that its driver reports (`GetMetrics` of `pkg/volume/csi/csi_metrics.go`).
 * @param path path at which the volume is published to a pod
 * @param showsHealth whether the result includes the volume's health
 * @returns `undefined` if the driver reports no usage (`GET_VOLUME_STATS`)
 * @throws VolumeError
 */
export async function csiUsage(
  calls: CsiCalls,
  { driver: name, handle }: CsiIdentity,
  path: string,
  showsHealth: boolean,
): Promise<VolumeMeasurement | undefined> {
  const driver = calls.driver(name, 'failed to get volume statistics');
  const { signal } = new AbortController();
  const key = `stats of ${path}`;
  const can = await calls.make(key, driver, 'NodeGetCapabilities', () => driver.capabilities(signal), signal);
  if (!can.volumeStats) return undefined;
  const call = (): Promise<CsiVolumeStats> => driver.volumeStats(handle, path, undefined, signal);
  return usageOf(await calls.make(key, driver, 'NodeGetVolumeStats', call, signal), showsHealth);
}
