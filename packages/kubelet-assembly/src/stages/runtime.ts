import type { AllocationManager } from '@node-agent/allocation';
import type { PodCgroups } from '@node-agent/cm-cgroups';
import type { ContainerResources } from '@node-agent/cm-resources';
import type { DeviceManager } from '@node-agent/device-manager';
import type { DraManager } from '@node-agent/dra';
import { PodNetwork } from '@node-agent/network';
import { OomWatcher } from '@node-agent/oom-watcher';
import type { PluginWatcher } from '@node-agent/plugin-watcher';
import type { Pod } from '@node-agent/pod-spec';
import type { VolumeManager } from '@node-agent/volumes';
import { nodeAllocation } from '../node-allocation.ts';
import { nodeCgroups } from '../node-cgroups.ts';
import { nodeClaims } from '../node-claims.ts';
import { NodeContainers } from '../node-containers.ts';
import { type NodeCsi, nodeCsi } from '../node-csi.ts';
import { nodeDevices } from '../node-devices.ts';
import { NodeImages } from '../node-images.ts';
import { nodePlugins } from '../node-plugins.ts';
import { nodeReference } from '../node-reference.ts';
import { containerPlacements, nodeResourceManagers } from '../node-resource-managers.ts';
import { NodeUserNamespaces } from '../node-user-namespaces.ts';
import { NodeView } from '../node-view.ts';
import { nodeVolumes } from '../node-volumes.ts';
import { PodCidr } from '../pod-cidr.ts';
import { handlerWithoutServer } from '../runtime-classes.ts';
import { RuntimeFacts } from '../runtime-facts.ts';
import type { AssemblyBase } from './base.ts';
import type { SourcesStage } from './sources.ts';

/**
 * Output of stage 2 of the assembly: everything that creates a pod's containers. This includes network, volumes,
 * images, cgroups, devices, CPUs and the runtime itself.
 */
export interface RuntimeStage {
  readonly facts: RuntimeFacts;
  readonly node: NodeView;
  readonly network: PodNetwork;
  readonly podCidr: PodCidr;
  readonly volumes: VolumeManager;
  /** CSI drivers of the node. `undefined` if CSI drivers cannot register. */
  readonly csi: NodeCsi | undefined;
  readonly images: NodeImages;
  /** Manager of pod cgroups. `undefined` if the runtime chooses the cgroups of pods. */
  readonly cgroups: PodCgroups | undefined;
  /** User namespaces of pods. `undefined` if pods get no user namespaces. */
  readonly userNamespaces: NodeUserNamespaces | undefined;
  readonly allocation: AllocationManager;
  /** Device manager. `undefined` if the node has no directory for device plugins. */
  readonly devices: DeviceManager | undefined;
  /** Manager of ResourceClaims. `undefined` if pods with ResourceClaims are rejected. */
  readonly claims: DraManager | undefined;
  /** CPU, memory and topology managers. `undefined` if the node has none of them. */
  readonly resourceManagers: ContainerResources | undefined;
  readonly plugins: PluginWatcher | undefined;
  readonly oomWatcher: OomWatcher | undefined;
  readonly containers: NodeContainers;
  /** Reports whether a pod's runtime handler supports recursive read-only mounts. */
  readonly supportsRecursiveReadOnly: (pod: Pod) => boolean;
}

export function assembleRuntime(base: AssemblyBase, sources: SourcesStage): RuntimeStage {
  const { ports, settings, child, late, pods } = base;
  const { cri, fs } = ports;
  const { rootDirectory, nodeName, nodeIps } = settings;
  const { journal, podManager, podConfig, prober, startup, objects } = sources;
  const facts = new RuntimeFacts(cri);
  const activePods = (): readonly Pod[] => late.kubelet.value.activePods();
  const keptPods = (): readonly Pod[] => [...activePods(), ...late.kubelet.value.applicants()];
  const statusChanged = (): void => late.clusterNode.value?.statusChanged();
  const devices = nodeDevices(child, ports, settings, {
    ...{ pods, podConfig, journal, keptPods },
    affinity: (podUid, container) => resourceManagers?.affinityOf(podUid, container),
    onResourcesChanged: statusChanged,
  });
  const claims = nodeClaims(child, ports, settings, {
    ...{ pods, podConfig, journal, keptPods, objects },
    // The pod's last status may have waited until its claims were unprepared, so it is written now.
    onUnprepared: (uid) => late.clusterNode.value?.statusWriter.hint(uid),
  });
  const resourceManagers = nodeResourceManagers(child, ports, settings, {
    ...{ pods, podConfig, journal, keptPods, devices },
    containers: () => containers,
  });
  const placements = containerPlacements(resourceManagers, settings);
  const node = new NodeView(settings, { facts, clusterNode: () => late.clusterNode.value, devices });
  const supportsRecursiveReadOnly = (pod: Pod): boolean =>
    facts.handler(objects?.runtimeClasses.knownHandlerOf(pod) ?? '')?.recursiveReadOnlyMounts ?? false;
  const network = new PodNetwork({ ...child('network'), fs }, { rootDirectory, nodeName, nodeIps, ...settings.dns });
  const csi =
    objects &&
    nodeCsi(child, ports, settings, {
      ...{ objects, onProblemChanged: statusChanged },
      onDriverChanged: () => late.volumes.value.csiDriverRegistered(),
      onObjectChanged: () => late.volumes.value.csiDriverChanged(),
    });
  const csiDrivers = ports.csiDrivers ?? csi?.registry;
  const refreshLimit = csi && {
    refreshLimit: (driver: string, signal: AbortSignal) => csi.registry.refresh(driver, signal),
  };
  const volumes = late.volumes.set(
    nodeVolumes(child, ports, settings, {
      ...{ pods, node, objects, supportsRecursiveReadOnly },
      ...(objects && csiDrivers && { csi: { ...objects.csi, drivers: csiDrivers, ...refreshLimit } }),
      attachedVolumes: () => late.clusterNode.value?.attachedVolumes(),
      devicePath: (name) => late.clusterNode.value?.devicePath(name),
      onVolumesInUseChanged: statusChanged,
    }),
  );
  const images = new NodeImages(child, ports, settings, {
    credentials: objects?.pullSecrets ?? ports.pullCredentials,
    ...{ startup, activePods },
  });
  const cgroups = nodeCgroups(child, ports, settings, placements?.hasExclusiveCpus);
  const runtimeHandler = (pod: Pod, signal: AbortSignal): Promise<string> =>
    objects?.runtimeClasses.handlerOf(pod, signal) ?? handlerWithoutServer(pod);
  const userNamespaces =
    settings.userNamespaces &&
    new NodeUserNamespaces(child, ports, settings.userNamespaces, rootDirectory, { facts, runtimeHandler });
  const allocation = nodeAllocation(child, ports, settings, {
    ...{ podManager, podConfig },
    admitHandlers: () => late.admitHandlers.value,
    kubelet: () => late.kubelet.value,
  });
  const containers = new NodeContainers(child, ports, settings, {
    ...{ journal, network, volumes, node, pods, cgroups, objects, userNamespaces, runtimeHandler, allocation },
    ...{ devices, claims, placements },
    images: images.manager,
    probes: prober.results,
    onSandboxReady: (pod) => late.kubelet.value.onPodSandboxReady(pod),
    onStreamLost: () => late.kubelet.value.checkRuntime(),
  });
  return {
    ...{ facts, node, network, volumes, csi, images, cgroups, userNamespaces, allocation, containers },
    ...{ devices, claims, resourceManagers },
    podCidr: new PodCidr({ ...child('network'), cri }, settings.podCidr ?? ''),
    plugins: nodePlugins(child, ports, settings, { devices, claims, csiDrivers: csi?.registry }),
    oomWatcher:
      ports.kernelLog &&
      new OomWatcher({ ...child('oom-watcher'), ...ports.kernelLog }, { nodeRef: nodeReference(nodeName) }),
    supportsRecursiveReadOnly,
  };
}
