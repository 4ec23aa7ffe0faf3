import { Preemption } from '@node-agent/admission';
import type { EvictionManager } from '@node-agent/eviction';
import type { NodeShutdownManager } from '@node-agent/node-shutdown';
import type { Pod } from '@node-agent/pod-spec';
import type { StatsProvider } from '@node-agent/stats';
import { nodeAdmitHandlers } from '../admit-handlers.ts';
import { MeasuredVolumes } from '../measured-volumes.ts';
import { nodeEviction } from '../node-eviction.ts';
import { nodeShutdown } from '../node-shutdown.ts';
import { nodeStats } from '../node-stats.ts';
import { tracedCollection } from '../pod-tracing.ts';
import type { AssemblyBase } from './base.ts';
import type { RuntimeStage } from './runtime.ts';
import type { SourcesStage } from './sources.ts';

/** Default of the interval of volume measurements, as for the configuration's `volumeStatsAggPeriod`. */
const VOLUME_PERIOD_MS = 60_000;

/**
 * Output of stage 3 of the assembly: stats of the node, and everything that admits or terminates pods because of the
 * node's state.
 */
export interface ResourcesStage {
  readonly measured: MeasuredVolumes;
  /** Stats provider. `undefined` if `NodePorts.stats` is absent. */
  readonly stats: StatsProvider | undefined;
  /** Eviction manager. `undefined` if the node evicts no pods. */
  readonly eviction: EvictionManager | undefined;
  /** Manager of graceful shutdown. `undefined` if the machine's shutdown does not wait for pods. */
  readonly shutdown: NodeShutdownManager | undefined;
}

export function assembleResources(
  { ports, settings, child, late, pods }: AssemblyBase,
  { podManager, podConfig }: SourcesStage,
  { volumes, cgroups, containers, images, node, devices: deviceManager, claims, resourceManagers }: RuntimeStage,
): ResourcesStage {
  const activePods = (): readonly Pod[] => late.kubelet.value.activePods();
  const statusChanged = (): void => late.clusterNode.value?.statusChanged();
  const measured = new MeasuredVolumes(
    { ...child('volumes'), volumes, pods: () => podManager.getPods() },
    { periodMs: settings.stats?.volumePeriodMs ?? VOLUME_PERIOD_MS },
  );
  const stats = nodeStats(child, ports, settings, (pod) => measured.of(pod), cgroups);
  const statistics = ports.statistics ?? stats;
  const eviction = nodeEviction(child, { ...ports, ...(statistics && { statistics }) }, settings, {
    ...{ pods, activePods, images },
    containerGc: {
      garbageCollect: tracedCollection(ports.tracer, 'Containers/GarbageCollect', (...args) =>
        containers.gc.garbageCollect(...args),
      ),
    },
    allSourcesReady: () => podConfig.seenAllSources(),
    volumes: measured,
    ...(stats && { layers: stats }),
    onPressureChanged: statusChanged,
  });
  const shutdown = nodeShutdown(child, ports, settings, {
    ...{ pods, volumes, activePods },
    onShutdownChanged: statusChanged,
  });
  const preemption = new Preemption({
    ...child('admission'),
    kill: (pod, podStatusFn, signal) => pods.killPodNow(pod, { evict: true, podStatusFn }, signal),
  });
  // If a policy is enabled, the resource managers allocate devices together with CPUs and memory. Otherwise there is
  // nothing to align, and the device manager allocates devices itself.
  const devices = resourceManagers?.isActive ? resourceManagers : deviceManager;
  late.admitHandlers.set(
    nodeAdmitHandlers(settings, { volumes, node, devices, claims, eviction, shutdown, preemption }),
  );
  return { measured, stats, eviction, shutdown };
}
