import { DeviceManager } from '@node-agent/device-manager';
import type { PodJournalPort } from '@node-agent/kubelet-core';
import type { PodConfig } from '@node-agent/pod-config';
import type { Pod } from '@node-agent/pod-spec';
import type { PartComponents } from './cluster-ports.ts';
import type { PodLinks } from './pod-links.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that {@link nodeDevices} needs besides ports and settings. */
export interface DeviceParts {
  readonly pods: PodLinks;
  readonly podConfig: Pick<PodConfig, 'seenAllSources'>;
  readonly journal: PodJournalPort;
  /**
   * Returns the pods that keep their resources: active pods, and pods in admission, which may have resources from before
   * a restart of the kubelet.
   */
  readonly keptPods: () => readonly Pod[];
  /** Returns the NUMA nodes from which a container's devices are preferably taken. `undefined`: from any NUMA node. */
  readonly affinity: (podUid: string, container: string) => readonly number[] | undefined;
  /** Called when the node's devices have changed. */
  readonly onResourcesChanged: () => void;
}

/** Creates the device manager, or returns `undefined` if no directory for device plugins is configured. */
export function nodeDevices(
  child: (component: string) => PartComponents,
  { fs, deviceTransport, labelForContainers }: Pick<NodePorts, 'fs' | 'deviceTransport' | 'labelForContainers'>,
  {
    devices,
    resourceManagers,
    resourceClaims,
  }: Pick<AssemblySettings, 'devices' | 'resourceManagers' | 'resourceClaims'>,
  { pods, podConfig, journal, keptPods, affinity, onResourcesChanged }: DeviceParts,
): DeviceManager | undefined {
  if (devices === undefined) return undefined;
  const { healthStatus = true, ...options } = devices;
  return new DeviceManager(
    {
      ...child('device-manager'),
      fs,
      pods: {
        active: keptPods,
        mayRun: (uid) => pods.couldHaveRunningContainers(uid),
        sourcesReady: () => podConfig.seenAllSources(),
      },
      ...(deviceTransport && { transport: deviceTransport }),
      ...(labelForContainers && { labelForContainers }),
      noted: ({ podUid, container, what }, work, signal) =>
        journal.during(podUid, 'Devices', { target: container, message: what }, work, signal),
      affinity,
      onResourcesChanged,
      onHealthChanged(uids) {
        if (healthStatus) for (const uid of uids) pods.wake(uid);
      },
    },
    {
      ...options,
      numaNodes: (resourceManagers?.machine?.nodes ?? []).map(({ id }) => id),
      extendedResourceClaims: resourceClaims?.extendedResources ?? true,
    },
  );
}
