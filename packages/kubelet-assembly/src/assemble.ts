import { Preemption } from '@node-agent/admission';
import { every } from '@node-agent/async';
import type { DeviceManager } from '@node-agent/device-manager';
import type { EvictionManager } from '@node-agent/eviction';
import {
  type BackgroundService,
  Kubelet,
  noteConditions,
  PodJournal,
  type RuntimeGate,
  StartupLatency,
} from '@node-agent/kubelet-core';
import { PodNetwork } from '@node-agent/network';
import { OomWatcher } from '@node-agent/oom-watcher';
import type { PodCache } from '@node-agent/pleg';
import { PodConfig } from '@node-agent/pod-config';
import { PodManager } from '@node-agent/pod-manager';
import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import { PodWorkers, type PodWorkersComponents } from '@node-agent/pod-workers';
import type { Prober } from '@node-agent/prober';
import { type PodRuntime, podSandboxChanged } from '@node-agent/runtime';
import type { StatsProvider } from '@node-agent/stats';
import { generateApiPodStatus, StatusManager } from '@node-agent/status';
import { nodeAdmitHandlers } from './admit-handlers.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import { MeasuredVolumes } from './measured-volumes.ts';
import { nodeAllocation } from './node-allocation.ts';
import { nodeCgroups } from './node-cgroups.ts';
import { NodeContainers } from './node-containers.ts';
import { nodeDevices } from './node-devices.ts';
import { nodeEviction } from './node-eviction.ts';
import { NodeImages } from './node-images.ts';
import { nodePlugins } from './node-plugins.ts';
import { nodeProber } from './node-prober.ts';
import { nodeReference } from './node-reference.ts';
import { nodeShutdown } from './node-shutdown.ts';
import { nodeStats } from './node-stats.ts';
import { NodeUserNamespaces } from './node-user-namespaces.ts';
import { NodeView } from './node-view.ts';
import { nodeVolumes } from './node-volumes.ts';
import { PodCidr } from './pod-cidr.ts';
import { PodLinks } from './pod-links.ts';
import type { AssemblySettings, Decorations, NodePorts, PodSourcePort } from './ports.ts';
import { handlerWithoutServer } from './runtime-classes.ts';
import { RuntimeFacts } from './runtime-facts.ts';

/** A kubelet and the parts of it that a program or a test asks directly. */
export interface AssembledKubelet<C> {
  readonly kubelet: Kubelet<C>;
  readonly podConfig: PodConfig;
  readonly status: StatusManager;
  readonly podCache: PodCache;
  readonly runtime: PodRuntime;
  /** The figures of the node and its pods; `undefined` where the program gave nothing to read them by. */
  readonly stats: StatsProvider | undefined;
  /** The devices of the node; `undefined` where it has none. */
  readonly devices: DeviceManager | undefined;
  /** Who ends pods before the node runs out of something; `undefined` where nobody does. */
  readonly eviction: EvictionManager | undefined;
}

const RESOLVER_CHECK_MS = 30_000;
/** `volumeStatsAggPeriod`. */
const VOLUME_PERIOD_MS = 60_000;

/** Makes all managers and joins them. Does no I/O: that begins with `kubelet.run`. */
export function assembleKubelet<C>(
  ports: NodePorts,
  settings: AssemblySettings<C>,
  decorations: Decorations = {},
): AssembledKubelet<C> {
  const { clock, random, logger, metrics, recorder, cri, fs, cluster } = ports;
  const { rootDirectory, nodeName, nodeIps, restartFeatures } = settings;
  const child = (component: string) => ({ clock, random, metrics, recorder, logger: logger.child({ component }) });

  // What is made later is asked through these: the pod workers, the node in its cluster, the kubelet itself.
  const pods = new PodLinks();
  const facts = new RuntimeFacts(cri);
  const node = new NodeView(settings, facts);
  let clusterNode: ClusterNode | undefined;

  const journal = new PodJournal({ clock });
  const { onPodCountChanged } = ports;
  const podManager = new PodManager({ ...(onPodCountChanged && { onCountChanged: onPodCountChanged }) });
  const podConfig = new PodConfig(child('pod-config'));
  const status = new StatusManager({
    ...child('status'),
    onChange(change) {
      noteConditions(journal, change.pod, change.status);
      clusterNode?.statusWriter.statusChanged(change);
      prober.statusChanged(change.pod.metadata.uid);
    },
    getMirrorPodByPod: (pod) => podManager.getMirrorPodByPod(pod),
    ...(restartFeatures && { restartFeatures }),
  });
  const prober: Prober = nodeProber(child, ports, settings, status);
  const startup = new StartupLatency({ clock, metrics });
  const objects: ClusterObjects | undefined = cluster?.objects(child, settings, {
    nodeAnnotations: () => node.annotations(),
    // Its volumes are brought up to date, and what waits for a secret in its environment need not wait for a back-off.
    onChange(uids) {
      for (const uid of uids) {
        volumes.refresh(uid);
        pods.wake(uid);
      }
    },
  });
  const supportsRecursiveReadOnly = (pod: Pod): boolean =>
    facts.handler(objects?.runtimeClasses.knownHandlerOf(pod) ?? '')?.recursiveReadOnlyMounts ?? false;

  const network = new PodNetwork({ ...child('network'), fs }, { rootDirectory, nodeName, nodeIps, ...settings.dns });
  const podCidr = new PodCidr({ ...child('network'), cri }, settings.podCidr ?? '');
  const volumes = nodeVolumes(child, ports, settings, { pods, node, objects, supportsRecursiveReadOnly });
  const credentials = objects?.pullSecrets ?? ports.pullCredentials;
  const images = new NodeImages(child, ports, settings, {
    ...{ credentials, startup },
    activePods: () => kubelet.activePods(),
  });
  const cgroups = nodeCgroups(child, ports, settings);
  const runtimeHandler = (pod: Pod, signal: AbortSignal): Promise<string> =>
    objects?.runtimeClasses.handlerOf(pod, signal) ?? handlerWithoutServer(pod);
  const userNamespaces =
    settings.userNamespaces &&
    new NodeUserNamespaces(child, ports, settings.userNamespaces, rootDirectory, { facts, runtimeHandler });
  const allocation = nodeAllocation(child, ports, settings, {
    ...{ podManager, podConfig },
    admitHandlers: () => admitHandlers,
    kubelet: () => kubelet,
  });
  const devices = nodeDevices(child, ports, settings, {
    ...{ pods, podConfig, journal },
    kubelet: () => kubelet,
    onResourcesChanged: () => clusterNode?.statusChanged(),
  });
  if (devices !== undefined) node.joinDevices(devices);
  const plugins = nodePlugins(child, ports, settings, { devices });
  const oomWatcher =
    ports.kernelLog &&
    new OomWatcher({ ...child('oom-watcher'), ...ports.kernelLog }, { nodeRef: nodeReference(nodeName) });
  const onSandboxReady = (pod: Pod): void => kubelet.onPodSandboxReady(pod);
  const parts = {
    journal,
    images: images.manager,
    network,
    volumes,
    node,
    pods,
    cgroups,
    objects,
    onSandboxReady,
    probes: prober.results,
    userNamespaces,
    runtimeHandler,
    allocation,
    devices,
  };
  const containers = new NodeContainers(child, ports, settings, parts);
  const { runtime, podCache, pleg } = containers;
  const measured = new MeasuredVolumes(
    { ...child('volumes'), volumes, pods: () => podManager.getPods() },
    { periodMs: settings.stats?.volumePeriodMs ?? VOLUME_PERIOD_MS },
  );
  const stats = nodeStats(child, ports, settings, (pod) => measured.of(pod), cgroups);
  const statistics = ports.statistics ?? stats;
  const eviction = nodeEviction(child, { ...ports, ...(statistics && { statistics }) }, settings, {
    pods,
    activePods: () => kubelet.activePods(),
    containerGc: containers.gc,
    images,
    allSourcesReady: () => podConfig.seenAllSources(),
    volumes: measured,
    ...(stats && { layers: stats }),
    onPressureChanged: () => clusterNode?.statusChanged(),
  });
  const shutdown = nodeShutdown(child, ports, settings, {
    ...{ pods, volumes },
    activePods: () => kubelet.activePods(),
    onShutdownChanged: () => clusterNode?.statusChanged(),
  });
  const admitHandlers = nodeAdmitHandlers(settings, {
    volumes,
    node,
    devices,
    eviction,
    shutdown,
    preemption: new Preemption({
      ...child('admission'),
      kill: (pod, podStatusFn, signal) => pods.killPodNow(pod, { evict: true, podStatusFn }, signal),
    }),
  });

  clusterNode = cluster?.node(child, settings, {
    journal,
    statuses: status,
    pods: podManager,
    runtime: facts,
    devices,
    kubelet: () => kubelet,
    shutdownErrors: () => shutdown?.shutdownErrors() ?? [],
    pressure: () => eviction?.pressure() ?? { memory: false, disk: false, pid: false },
    onPodCidr: (cidr, signal) => podCidr.update(cidr, signal),
    onServerHeard: () => objects?.clusterServices.retryNow(),
    onStoreLost: () => objects?.listAnew(),
    safety: {
      couldHaveRunningContainers: (uid) => pods.couldHaveRunningContainers(uid),
      podResourcesAreReclaimed: (uid) => nothingLeft(podCache.get(uid)?.status),
    },
    mirrors: {
      isTerminating: (fullName, next) => pods.isPodForMirrorPodTerminatingByFullName(fullName, next),
      sourcesReady: () => podConfig.seenAllSources(),
    },
  });
  if (clusterNode !== undefined) node.join(clusterNode);
  const joined = clusterNode;

  const kubelet: Kubelet<C> = new Kubelet(
    {
      ...child('kubelet'),
      podConfig,
      podManager,
      podWorkers: (kubeletSyncer, gate) => {
        const decorated = decorations.podSyncer?.(kubeletSyncer) ?? kubeletSyncer;
        const syncer = objects?.holding(decorated) ?? decorated;
        const workers = new PodWorkers(
          { ...child('pod-workers'), syncer, podCache: gatedCache(podCache, gate) },
          { resyncIntervalMs: settings.syncFrequencyMs },
        );
        pods.join(workers);
        return workers;
      },
      pleg,
      podCache,
      runtime: {
        getPods: (signal) => runtime.getPods(signal),
        getPodStatus: (uid, name, namespace, signal) => runtime.getPodStatus(uid, name, namespace, signal),
        syncPod: (pod, podStatus, signal) => runtime.syncPod(pod, podStatus, signal),
        killPod: (pod, running, graceSeconds, signal) => runtime.killPod(pod, running, graceSeconds, signal),
        forget: (uid) => runtime.forget(uid),
        status: (signal) => facts.status(signal),
      },
      status,
      startup,
      journal,
      ...(joined && { statusSeen: (uid) => joined.statusWriter.hint(uid), mirrorPods: joined.mirrorPods }),
      generatePodStatus: (pod, runtimeStatus, context) =>
        generateApiPodStatus(pod, runtimeStatus, {
          ...context,
          runtimeName: facts.name ?? 'unknown',
          startFailure: (container) => runtime.lastErrors(pod.metadata.uid, container),
          probes: prober.results,
          sandboxReady: !podSandboxChanged(pod, runtimeStatus).changed,
          hostIps: node.hostIps(),
          ...(settings.node.podIpFamily && { podIpFamily: settings.node.podIpFamily }),
          stopSignals: settings.node.containerStopSignals,
          recursiveReadOnly: supportsRecursiveReadOnly(pod),
          resizeConditions: allocation.conditions(pod.metadata.uid),
          ...(devices &&
            settings.devices?.healthStatus !== false && {
              resourcesStatus: (container: string) => devices.resourcesStatus(pod.metadata.uid, container),
            }),
          groupLimits: cgroups?.knownLimits(pod.metadata.uid),
          ...(restartFeatures && { restartFeatures }),
        }),
      volumes,
      ...(cgroups && { cgroups }),
      ...(userNamespaces && { userNamespaces }),
      ...(devices && { devices }),
      probes: prober,
      containerGc: containers.gc,
      ...(images.gc && { imageGc: images.gc }),
      ...(eviction && { eviction }),
      admitHandlers,
      allocation,
      services: [
        ...[...settings.sources, ...(joined ? [joined.podSource] : [])].map((source) =>
          sourceService(source, podConfig),
        ),
        {
          name: 'resolver file check',
          start: (signal) => every(clock, RESOLVER_CHECK_MS, () => network.checkResolvConf(), signal),
        },
        ...(devices ? [{ name: 'device plugins', start: (signal: AbortSignal) => devices.start(signal) }] : []),
        ...(plugins ? [{ name: 'plugin watcher', start: (signal: AbortSignal) => plugins.start(signal) }] : []),
        { name: 'prober', start: (signal) => prober.start(signal) },
        ...(stats ? [{ name: 'measuring of volumes', start: (signal: AbortSignal) => measured.start(signal) }] : []),
        ...(oomWatcher ? [{ name: 'OOM watcher', start: (signal: AbortSignal) => oomWatcher.start(signal) }] : []),
        ...(objects?.services ?? []),
        ...(joined?.services ?? []),
      ],
      servers: settings.servers,
      runtimeDependentServices: [
        { name: 'pod CIDR', start: (signal) => podCidr.start(signal) },
        ...(cgroups ? [{ name: 'cgroups', start: (signal: AbortSignal) => cgroups.start(signal) }] : []),
        ...containers.services,
        ...images.services,
        ...(eviction ? [{ name: 'eviction', start: (signal: AbortSignal) => eviction.start(signal) }] : []),
        ...(shutdown ? [{ name: 'node shutdown', start: (signal: AbortSignal) => shutdown.start(signal) }] : []),
      ],
    },
    {
      configuration: settings.configuration,
      nodeRef: nodeReference(nodeName),
      syncFrequencyMs: settings.syncFrequencyMs,
    },
  );
  return { kubelet, podConfig, status, podCache, runtime, stats, devices, eviction };
}

function sourceService({ name, make }: PodSourcePort, podConfig: PodConfig): BackgroundService {
  const source = make(podConfig.addSource(name));
  return { name: `pod source ${name}`, start: (signal) => source.start(signal) };
}

/** S5: nothing of the pod runs, and its sandbox is down; that its volumes are gone was seen before it was called finished. */
function nothingLeft(status: RuntimePodStatus | undefined): boolean {
  if (status === undefined) return true;
  return !status.sandboxes.some(({ state }) => state === 'ready') && !status.containers.some(mayStillRun);
}

function mayStillRun({ state }: RuntimePodStatus['containers'][number]): boolean {
  return state === 'running' || state === 'unknown';
}

/** The pod cache as the workers read it: each of their steps begins with a reading, which waits for a healthy runtime. */
function gatedCache(cache: PodCache, gate: RuntimeGate): PodWorkersComponents['podCache'] {
  return {
    get: (uid) => cache.get(uid),
    hasSeen: (uid) => cache.hasSeen(uid),
    runningPods: (name, namespace) => cache.runningPods(name, namespace),
    async getNewerThan(uid, minTimeMs, signal) {
      await gate.passed(signal);
      return await cache.getNewerThan(uid, minTimeMs, signal);
    },
  };
}
