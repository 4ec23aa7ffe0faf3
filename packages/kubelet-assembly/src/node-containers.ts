import type { AllocationManager } from '@node-agent/allocation';
import type { PodCgroups } from '@node-agent/cm-cgroups';
import { ContainerGc } from '@node-agent/container-gc';
import { ContainerLogManager, type ContainerLogManagerComponents } from '@node-agent/container-logs';
import type { DeviceManager } from '@node-agent/device-manager';
import type { DraManager } from '@node-agent/dra';
import type { BackgroundService, PodJournalPort } from '@node-agent/kubelet-core';
import { LifecycleHooks } from '@node-agent/lifecycle-hooks';
import type { PodNetwork } from '@node-agent/network';
import { Pleg, PodCache } from '@node-agent/pleg';
import type { Pod } from '@node-agent/pod-spec';
import { type ContainerPlacements, PodRuntime, type PodRuntimeComponents } from '@node-agent/runtime';
import type { VolumeManager } from '@node-agent/volumes';
import type { ClusterObjects } from './cluster-objects.ts';
import type { PartComponents } from './cluster-ports.ts';
import { commandRunner } from './command-runner.ts';
import { containerGrants } from './container-grants.ts';
import { appliedResources } from './node-allocation.ts';
import type { NodeView } from './node-view.ts';
import { notedCri, notedHooks, notedImages } from './noted-work.ts';
import type { PodLinks } from './pod-links.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/**
 * Interval of the relist that repairs missed events when PLEG uses the runtime's events. A relist takes two calls for
 * all pods together.
 */
const PLEG_REPAIR_MS = 60_000;

/** Components of the node that containers need besides ports and settings. */
export interface ContainerParts {
  readonly journal: PodJournalPort;
  readonly images: PodRuntimeComponents['images'];
  readonly network: PodNetwork;
  readonly volumes: VolumeManager;
  readonly node: NodeView;
  readonly pods: PodLinks;
  /** Manager of pod cgroups. If `undefined`, the runtime chooses the cgroups of pods. */
  readonly cgroups: PodCgroups | undefined;
  readonly probes: PodRuntimeComponents['probes'];
  readonly allocation: AllocationManager;
  /** Device manager. `undefined` if the node has no devices. */
  readonly devices: DeviceManager | undefined;
  /** Manager of ResourceClaims. `undefined` if pods with ResourceClaims are rejected. */
  readonly claims: DraManager | undefined;
  /** CPUs and NUMA nodes of each container. `undefined` if containers are not restricted to CPUs and NUMA nodes. */
  readonly placements: ContainerPlacements | undefined;
  /** Objects from the API server. `undefined` if there is no API server. */
  readonly objects: ClusterObjects | undefined;
  /** Allocates the IDs of user namespaces. `undefined` if pods get no user namespaces. */
  readonly userNamespaces: PodRuntimeComponents['userNamespaces'];
  readonly runtimeHandler: (pod: Pod, signal: AbortSignal) => Promise<string>;
  /** Called when a pod's sandbox and network are ready. */
  readonly onSandboxReady: (pod: Pod) => void;
  /** Called when the runtime's stream of events was lost. */
  readonly onStreamLost: () => void;
}

/**
 * Components that create, observe and remove the containers of pods: runtime, PLEG, log rotation and garbage
 * collection.
 */
export class NodeContainers {
  readonly runtime: PodRuntime;
  readonly podCache: PodCache = new PodCache();
  readonly pleg: Pleg;
  readonly gc: ContainerGc;
  readonly logs: ContainerLogManager;
  /** Services that start once the runtime has reported ready. */
  readonly services: readonly BackgroundService[];

  constructor(
    child: (component: string) => PartComponents,
    { cri, fs, foreignFiles, hookHttp }: Pick<NodePorts, 'cri' | 'fs' | 'foreignFiles' | 'hookHttp'>,
    settings: AssemblySettings,
    {
      journal,
      images,
      network,
      volumes,
      node,
      pods,
      cgroups,
      objects,
      onSandboxReady,
      probes,
      userNamespaces,
      runtimeHandler,
      allocation,
      devices,
      claims,
      placements,
      onStreamLost,
    }: ContainerParts,
  ) {
    const { rootDirectory, containerLogsDirectory, backOff, restartFeatures, startConcurrency } = settings;
    const grants = containerGrants(volumes, devices, claims);
    this.runtime = new PodRuntime(
      {
        ...child('runtime'),
        cri: notedCri(cri, journal),
        fs,
        foreignFiles,
        images: notedImages(images, journal),
        network,
        mounts: {
          async containerMounts(pod, container, { podIps, environment }, signal) {
            const hosts = await network.hostsMount(pod, container, podIps);
            const mounts = await volumes.containerMounts(pod, container, environment, signal);
            return hosts === undefined ? mounts : [...mounts, hosts];
          },
          extraSupplementalGroups: (pod) => volumes.extraSupplementalGroups(pod),
          volumePath: (pod, volumeName) => volumes.volumePath(pod, volumeName),
        },
        grants,
        ...(claims && { claims }),
        ...(placements && { placements }),
        probes,
        hooks: notedHooks(
          new LifecycleHooks({
            ...child('lifecycle-hooks'),
            exec: commandRunner(cri),
            podIps: (pod, signal) => this.#podIps(pod, node, signal),
            ...(hookHttp && { http: hookHttp }),
          }),
          journal,
        ),
        isPodTerminationRequested: (uid) => pods.isPodTerminationRequested(uid),
        onSandboxReady,
        ...(cgroups && { cgroups }),
        applied: appliedResources(allocation),
        hostIps: () => node.hostIps(),
        runtimeHandler,
        ...(userNamespaces && { userNamespaces }),
        nodeAllocatable: () => node.allocatable(),
        ...(objects && { objects: objects.environment, services: () => objects.clusterServices.all() }),
      },
      {
        node: settings.node,
        rootDirectory,
        containerLogsDirectory,
        backOff,
        startConcurrency,
        selinuxEnabled: settings.selinux ?? false,
        ...(restartFeatures && { features: restartFeatures }),
        ...(settings.resize && { resizeFeatures: settings.resize }),
      },
    );
    this.pleg = new Pleg(
      { ...child('pleg'), runtime: this.runtime, cache: this.podCache, onStreamLost },
      { repairPeriodMs: PLEG_REPAIR_MS },
    );
    this.gc = new ContainerGc(
      { ...child('container-gc'), cri, fs, runtime: this.runtime, pods, sandboxRemoved: (uid) => this.pleg.hint(uid) },
      { policy: settings.containerGc, podLogsDirectory: settings.node.podLogsDirectory, containerLogsDirectory },
    );
    const { maxWorkers: workers, ...logs } = settings.logs;
    const logCri: ContainerLogManagerComponents['cri'] = {
      // Log rotation needs only the states of containers, which some runtimes list with less effort.
      listContainers: (request, signal) =>
        cri.listContainerStates?.(request, signal) ?? cri.listContainers(request, signal),
      containerStatus: (request, signal) => cri.containerStatus(request, signal),
      reopenContainerLog: (request, signal) => cri.reopenContainerLog(request, signal),
    };
    const logManager = new ContainerLogManager({ ...child('container-logs'), cri: logCri, fs }, { ...logs, workers });
    this.logs = logManager;
    this.services = [{ name: 'log rotation', start: (signal) => logManager.start(signal) }];
  }

  /**
   * Returns a pod's addresses as the runtime reports them. Called also for pods that only the runtime knows. A
   * host-network pod has the node's addresses.
   */
  async #podIps({ metadata }: Pod, node: NodeView, signal: AbortSignal): Promise<readonly string[]> {
    const { uid, name, namespace } = metadata;
    const { ips, sandboxes } = await this.runtime.getPodStatus(uid, name, namespace, signal);
    return sandboxes[0]?.hostNetwork ? node.hostIps() : ips;
  }
}
