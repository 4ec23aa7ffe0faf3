import { join } from 'node:path';
import type { FeatureGates } from '@node-agent/config';
import { nodeFileSystem } from '@node-agent/host';
import type { BackgroundService, KubeletView } from '@node-agent/kubelet-core';
import { PodResourcesServer, type PodResourcesServerComponents } from '@node-agent/pod-resources';

type Common = Pick<Required<PodResourcesServerComponents>, 'clock' | 'logger' | 'metrics'>;
type Holdings = Pick<PodResourcesServerComponents, 'devices' | 'claims' | 'resources'>;

/**
 * Creates the pod resources server, from which monitoring agents read the devices, CPUs, memory and claims of pods.
 * @param holdings returns the managers of devices, CPUs, memory and claims; called when the server starts, because the
 * managers are created together with the kubelet
 */
export function podResourcesServer(
  { clock, logger, metrics }: Common,
  { rootDir, featureGates }: { readonly rootDir: string; readonly featureGates: FeatureGates },
  holdings: () => Holdings,
): (kubelet: KubeletView) => BackgroundService {
  return (kubelet) => ({
    name: 'pod resources server',
    async start(signal) {
      const server = new PodResourcesServer(
        {
          ...{ clock, metrics, logger: logger.child({ component: 'pod-resources' }), fs: nodeFileSystem },
          pods: { active: () => kubelet.activePods(), all: () => kubelet.getPods() },
          ...holdings(),
        },
        {
          socketPath: join(rootDir, 'pod-resources/kubelet.sock'),
          listActive: featureGates.enabled('KubeletPodResourcesListUseActivePods'),
        },
      );
      await server.start(signal);
    },
  });
}
