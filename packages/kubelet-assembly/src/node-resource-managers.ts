import { ContainerResources } from '@node-agent/cm-resources';
import type { DeviceManager } from '@node-agent/device-manager';
import type { PodJournalPort } from '@node-agent/kubelet-core';
import type { PodCache } from '@node-agent/pleg';
import type { PodConfig } from '@node-agent/pod-config';
import type { Pod, RuntimeContainerStatus } from '@node-agent/pod-spec';
import type { ContainerPlacements, PodRuntime } from '@node-agent/runtime';
import type { PartComponents } from './cluster-ports.ts';
import type { PodLinks } from './pod-links.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that {@link nodeResourceManagers} needs besides ports and settings. */
export interface ResourceManagerParts {
  readonly pods: PodLinks;
  readonly podConfig: Pick<PodConfig, 'seenAllSources'>;
  readonly journal: PodJournalPort;
  /**
   * Returns the pods that keep their resources: active pods, and pods in admission, which may have resources from before
   * a restart of the kubelet.
   */
  readonly keptPods: () => readonly Pod[];
  readonly devices: DeviceManager | undefined;
  /** Returns the containers' components, which are created later in the same stage. */
  readonly containers: () => { readonly runtime: Pick<PodRuntime, 'getPods'>; readonly podCache: PodCache };
}

/** Creates the CPU, memory and topology managers, or returns `undefined` if the node has none of them. */
export function nodeResourceManagers(
  child: (component: string) => PartComponents,
  { fs, cri }: Pick<NodePorts, 'fs' | 'cri'>,
  { resourceManagers, rootDirectory }: Pick<AssemblySettings, 'resourceManagers' | 'rootDirectory'>,
  { pods, podConfig, journal, keptPods, devices, containers }: ResourceManagerParts,
): ContainerResources | undefined {
  if (resourceManagers === undefined) return undefined;
  const { noQuotaWithExclusiveCpus: _, ...options } = resourceManagers;
  const runningOf = (uid: string): readonly RuntimeContainerStatus[] =>
    (containers().podCache.get(uid)?.status.containers ?? []).filter(({ state }) => state === 'running');
  return new ContainerResources(
    {
      ...child('cm-resources'),
      fs,
      pods: {
        active: keptPods,
        mayRun: (uid) => pods.couldHaveRunningContainers(uid),
        sourcesReady: () => podConfig.seenAllSources(),
      },
      containers: {
        running: ({ metadata }) => runningOf(metadata.uid),
        *runningInOtherPods(activeUids) {
          for (const podUid of containers().podCache.uids()) {
            if (activeUids.has(podUid)) continue;
            for (const { name, id } of runningOf(podUid)) yield { podUid, name, id };
          }
        },
        async updateContainerCpuset(containerId, cpusetCpus, signal) {
          await cri.updateContainerResources({ containerId, linux: { cpusetCpus } }, signal);
        },
        async known() {
          const all = await containers().runtime.getPods();
          return new Map(
            all.flatMap(({ uid: podUid, containers: of }) =>
              of.map(({ id, name }) => [id, { podUid, container: name }]),
            ),
          );
        },
      },
      ...(devices && { devices }),
      noted: ({ podUid, what }, work, signal) => journal.during(podUid, 'Devices', { message: what }, work, signal),
    },
    { ...options, directory: rootDirectory },
  );
}

/**
 * Adapts the resource managers to the port through which the runtime places containers. Returns `undefined` if no
 * policy is enabled, so that containers are not restricted.
 */
export function containerPlacements(
  resources: ContainerResources | undefined,
  { resourceManagers }: Pick<AssemblySettings, 'resourceManagers'>,
): ContainerPlacements | undefined {
  if (!resources?.isActive) return undefined;
  const isUnlimited = resourceManagers?.noQuotaWithExclusiveCpus ?? true;
  return {
    placementOf(pod, container) {
      const placement = resources.placementOf(pod.metadata.uid, container.name);
      return { ...placement, hasExclusiveCpus: isUnlimited && resources.hasExclusiveCpus(pod, container) };
    },
    hasExclusiveCpus: (pod) => isUnlimited && resources.hasExclusiveCpus(pod),
    starting: (pod, container, containerId, cpus) => resources.starting(pod, container, containerId, cpus),
  };
}
