import type { ContainerGc } from '@node-agent/container-gc';
import {
  type DiskPaths,
  diskGauges,
  type EvictionDiskUsage,
  EvictionManager,
  type EvictionPods,
  formatThreshold,
} from '@node-agent/eviction';
import { isCriticalPod, type Pod } from '@node-agent/pod-spec';
import type { StatsProvider } from '@node-agent/stats';
import type { PartComponents } from './cluster-ports.ts';
import { nodeDisks } from './disk-layout.ts';
import type { MeasuredVolumes } from './measured-volumes.ts';
import type { NodeImages } from './node-images.ts';
import { nodeReference } from './node-reference.ts';
import type { PodLinks } from './pod-links.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that eviction needs besides ports and settings. */
export interface EvictionParts {
  readonly pods: PodLinks;
  readonly activePods: () => readonly Pod[];
  readonly containerGc: Pick<ContainerGc, 'garbageCollect'>;
  readonly images: Pick<NodeImages, 'deleteUnused'>;
  readonly allSourcesReady: () => boolean;
  readonly onPressureChanged: () => void;
  readonly volumes: Pick<MeasuredVolumes, 'measure'>;
  /**
   * Measures the writable layers of containers on demand. If absent, eviction uses the values of the periodic stats.
   */
  readonly layers?: Pick<StatsProvider, 'measureLayers'>;
}

/**
 * Maximum time after the start for which no images are removed because some pod sources have not reported.
 * `collectGarbage` of kubelet-core waits equally long before the first image garbage collection.
 */
const SOURCES_TIMEOUT_MS = 300_000;

/** Creates the eviction manager; returns `undefined` if eviction is not configured or the node is not measured. */
export function nodeEviction(
  child: (component: string) => PartComponents,
  ports: Pick<NodePorts, 'cri' | 'foreignFiles' | 'statistics' | 'stats' | 'gauges'>,
  settings: Pick<AssemblySettings, 'eviction' | 'nodeName' | 'rootDirectory'>,
  parts: EvictionParts,
): EvictionManager | undefined {
  const { cri, foreignFiles, statistics, stats, gauges = [] } = ports;
  const { eviction, nodeName, rootDirectory } = settings;
  if (eviction === undefined) return undefined;
  if (statistics === undefined) {
    const thresholds = eviction.thresholds.map(formatThreshold);
    const { localStorageCapacityIsolation = true } = eviction;
    const message = 'Node is not measured: no pods are evicted, and local storage limits are not enforced';
    child('eviction').logger.warn({ thresholds, localStorageCapacityIsolation }, message);
    return undefined;
  }
  let paths: DiskPaths | undefined;
  const knownPaths = (): DiskPaths => {
    if (paths === undefined) throw new Error('disk layout is not known yet');
    return paths;
  };
  const components = child('eviction');
  const { clock } = components;
  // The wait for pod sources is limited, because the disk must not fill up while the API server is unavailable for
  // hours.
  const sourcesTimeoutAtMs = clock.monotonic() + SOURCES_TIMEOUT_MS;
  const areKnown = (): boolean => parts.allSourcesReady() || clock.monotonic() >= sourcesTimeoutAtMs;
  return new EvictionManager(
    {
      ...components,
      pods: { ...evictionPods(parts), areKnown },
      stats: statistics,
      disks: {
        async layout(signal) {
          const disks = await nodeDisks(cri, foreignFiles, rootDirectory, signal);
          paths = disks.paths;
          return disks.layout;
        },
      },
      reclaim: {
        deleteUnusedContainers: (signal) =>
          parts.containerGc.garbageCollect(
            { allSourcesReady: parts.allSourcesReady(), evictNonDeletedPods: true },
            signal,
          ),
        deleteUnusedImages: (signal) => parts.images.deleteUnused(signal),
      },
      diskUsage: diskUsage(parts),
      gauges: [...gauges, ...(stats ? diskGauges(stats.disks, knownPaths) : [])],
      onPressureChanged: parts.onPressureChanged,
    },
    { ...eviction, nodeRef: nodeReference(nodeName) },
  );
}

/**
 * Measures the disk usage of volumes and writable layers. If one measurement fails, the other is completed before the
 * error is thrown.
 */
function diskUsage({ volumes, layers }: Pick<EvictionParts, 'volumes' | 'layers'>): EvictionDiskUsage {
  return {
    async measure(signal) {
      const done = await Promise.allSettled([volumes.measure(signal), layers?.measureLayers(signal)]);
      for (const one of done) if (one.status === 'rejected') throw one.reason;
    },
  };
}

function evictionPods({ pods, activePods }: Pick<EvictionParts, 'pods' | 'activePods'>): EvictionPods {
  return {
    active: activePods,
    isCritical: isCriticalPod,
    kill: (pod, { statusFn, gracePeriodSeconds }, signal) =>
      pods.killPodNow(
        pod,
        { evict: true, podStatusFn: statusFn, gracePeriodSecondsOverride: gracePeriodSeconds },
        signal,
      ),
    isGone: ({ metadata }) => pods.shouldPodBeFinished(metadata.uid),
  };
}
