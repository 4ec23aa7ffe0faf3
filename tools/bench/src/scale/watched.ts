import type { ClusterKubelet } from '../cluster/cluster-kubelet.ts';
import type { ProbeOrder, ProbeReport } from './probe.ts';

/**
 * Starts a measurement of the event loop of a kubelet with the probe. Without the probe, the results are `NaN`.
 * @param profile names of functions that are measured too
 * @returns the function that ends the measurement
 */
export async function watched(
  kubelet: ClusterKubelet,
  profile?: readonly string[],
): Promise<() => Promise<ProbeReport>> {
  if (!kubelet.isPreloaded) return async () => ({ holdMs: Number.NaN, functionMs: {} });
  const order: ProbeOrder = { watch: { ...(profile && { profile }) } };
  await kubelet.ask(order);
  return async () => (await kubelet.ask({ report: true } satisfies ProbeOrder)) as ProbeReport;
}
