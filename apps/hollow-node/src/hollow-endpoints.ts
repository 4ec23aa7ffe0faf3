import type { Clock } from '@node-agent/async';
import { type AssembledKubelet, nodeLogs } from '@node-agent/kubelet-assembly';
import type { KubeletView } from '@node-agent/kubelet-core';
import {
  type Endpoints,
  logEndpoints,
  stateEndpoints,
  statsEndpoints,
  streamEndpoints,
  type UpgradeEndpoints,
} from '@node-agent/server';
import { summaryPortions } from '@node-agent/stats';
import { type Logger, MetricsRegistry } from '@node-agent/telemetry';
import type { HollowMachine } from './hollow-machine.ts';

interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Metrics of the whole process: hollow nodes share them. */
  readonly metrics: MetricsRegistry;
  readonly machine: Pick<HollowMachine, 'fs' | 'cri'>;
  readonly stats: () => AssembledKubelet<unknown>['stats'];
}

/** Handlers of a node's kubelet server: health, pods, stats, metrics, logs and streams. */
export function hollowEndpoints(
  { clock, logger, metrics, machine, stats }: Components,
  kubelet: KubeletView,
): { readonly endpoints: Endpoints; readonly upgrades: UpgradeEndpoints } {
  const { cri, fs } = machine;
  const pods = {
    getPods: () => kubelet.getPods(),
    getPodByName: (namespace: string, name: string) => kubelet.getPodByName(namespace, name),
    translatePodUid: (uid: string) => kubelet.translatePodUid(uid),
    getRunningPods: (signal: AbortSignal) => kubelet.getRunningPods(signal),
    getRunningPod: (uid: string, signal: AbortSignal) => kubelet.getRunningPod(uid, signal),
  };
  const streams = streamEndpoints({ clock, logger, metrics, runtime: cri, ...pods });
  const provider = (): NonNullable<ReturnType<typeof stats>> => {
    const found = stats();
    if (found === undefined) throw new Error('node has no stats');
    return found;
  };
  const checks = (['syncloop', 'pleg', 'runtime'] as const).map((name) => ({
    name,
    check: () => kubelet.health()[name],
  }));
  return {
    endpoints: {
      ...stateEndpoints({
        ...{ clock, logger, checks, ...pods },
        renderMetrics: (signal) => ({
          contentType: MetricsRegistry.contentType,
          text: metrics.portions({ clock }, signal),
        }),
        explain: (namespace, name) => kubelet.explain(namespace, name),
      }),
      ...statsEndpoints({
        ...{ clock, logger },
        stats: {
          summary: async (onlyCpuAndMemory, signal) =>
            summaryPortions(
              await (onlyCpuAndMemory ? provider().resourceSummary({}, signal) : provider().summary({}, signal)),
              { clock },
              signal,
            ),
          cadvisorMetrics: async (signal) => provider().cadvisorPortions(signal),
          resourceMetrics: async (signal) => provider().resourcePortions(signal),
        },
      }),
      ...logEndpoints({ ...pods, readLog: nodeLogs(cri, { fs, clock, logger }) }),
      ...streams.endpoints,
    },
    upgrades: streams.upgrades,
  };
}
