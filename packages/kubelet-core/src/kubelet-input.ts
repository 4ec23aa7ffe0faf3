import { checkComponents } from '@node-agent/async';
import type { GivenDependencies, KubeletOptions } from './dependencies.ts';

/**
 * Checks the components of a `Kubelet` and adds the defaults of its options.
 * @returns the options, with the defaults for those that are absent
 * @throws OptionsError naming the invalid component
 */
export function checkKubeletInput<C>(
  given: GivenDependencies,
  options: KubeletOptions<C>,
): Required<KubeletOptions<C>> {
  checkComponents('Kubelet', given, {
    podConfig: ['seenAllSources', 'sourceReady', 'allSourcesSeen'],
    podManager: [
      'addPod',
      'updatePod',
      'removePod',
      'getPods',
      'getPodByUid',
      'getPodByName',
      'translatePodUid',
      'getPodAndMirrorPod',
      'getPodsAndMirrorPods',
    ],
    podWorkers: 'function',
    pleg: ['start', 'hint', 'healthy'],
    podCache: ['get', 'hasSeen', 'runningPods', 'getNewerThan'],
    runtime: ['getPods', 'getPodStatus', 'syncPod', 'killPod', 'status', 'forget', 'containerEnded'],
    status: [
      'getPodStatus',
      'knownStatus',
      'setPodStatus',
      'terminatePod',
      'setContainerReadiness',
      'setContainerStartup',
      'isReadinessStale',
      'removeOrphanedStatuses',
      'resetForNewInstance',
    ],
    generatePodStatus: 'function',
    volumes: [
      'start',
      'makePodDataDirs',
      'waitForAttachAndMount',
      'waitForUnmount',
      'podVolumesExist',
      'cleanupOrphanedPodDirs',
    ],
    containerGc: ['garbageCollect', 'deleteContainersInPod'],
    admitHandlers: 'list',
    services: 'list',
    runtimeDependentServices: 'list',
  });
  return {
    syncPeriodMs: 1000,
    housekeepingPeriodMs: 2000,
    runtimeStatusPeriodMs: 5000,
    runtimeUpThresholdMs: 30_000,
    containerGcPeriodMs: 60_000,
    imageGcPeriodMs: 300_000,
    syncFrequencyMs: 60_000,
    ...options,
  };
}
