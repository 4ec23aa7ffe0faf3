import type { Clock } from '@node-agent/async';
import type { FeatureGates, KubeletConfiguration, KubeletFlags } from '@node-agent/config';
import type { ImageService } from '@node-agent/cri-client';
import type { AssembledKubelet } from '@node-agent/kubelet-assembly';
import { LocalNode } from '@node-agent/node-status';
import type { InventoryComponents } from '@node-agent/server';
import type { Logger, MemoryEventRecorder } from '@node-agent/telemetry';
import { machineSources, type NodeFacts, nodeOptions } from './node-options.ts';

/** Facts about the node whose Node object an endpoint serves. */
export interface DescribedNode extends NodeFacts {
  /** Returns the configuration in force. */
  readonly configuration: () => KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly featureGates: FeatureGates;
}

interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<MemoryEventRecorder, 'all'>;
  readonly cri: Pick<ImageService, 'listImages'>;
}

/**
 * Creates the data of the endpoints that list the node's events, images and Node object.
 * @param assembled returns the components of the kubelet; called with the first request for the Node object
 */
export function nodeInventory(
  { clock, logger, events, cri }: Components,
  node: DescribedNode,
  assembled: () => Pick<AssembledKubelet<unknown>, 'nodeState' | 'devices'>,
): InventoryComponents {
  let local: { readonly node: LocalNode; readonly configuration: KubeletConfiguration } | undefined;
  const localNode = (configuration: KubeletConfiguration): LocalNode => {
    const { nodeState, devices } = assembled();
    const { runtime } = nodeState;
    const sources = {
      ...machineSources(node.flags, node.nodeName),
      runtimeVersion: (signal: AbortSignal) => runtime.version(signal),
      images: (signal: AbortSignal) => runtime.images(signal),
      readiness: () => nodeState.readiness(),
      pressure: () => nodeState.pressure(),
      runtimeHandlers: () => runtime.handlers(),
      runtimeFeatures: () => runtime.features(),
      ...(devices && { devicePlugins: () => devices.resources() }),
    };
    const options = nodeOptions(configuration, node.flags, node.featureGates, node);
    return new LocalNode({ clock, logger, sources }, { ...options, nodeName: node.nodeName });
  };
  return {
    events: () => events.all(),
    async images(signal) {
      const { images } = await cri.listImages({}, signal);
      return images.map(({ id, repoTags, repoDigests, size, pinned }) => ({
        ...{ id, repoTags, repoDigests, pinned },
        sizeBytes: Number(size),
      }));
    },
    async node(signal) {
      const configuration = node.configuration();
      if (local?.configuration !== configuration) local = { node: localNode(configuration), configuration };
      return await local.node.read(signal);
    },
  };
}
