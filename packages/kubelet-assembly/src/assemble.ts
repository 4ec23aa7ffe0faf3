import { type AdmissionNode, appArmorHandler, predicateHandler, sysctlHandler } from '@node-agent/admission';
import { every } from '@node-agent/async';
import { ContainerGc } from '@node-agent/container-gc';
import { ContainerLogManager } from '@node-agent/container-logs';
import { ImageManager, ImagePullRecords } from '@node-agent/images';
import {
  type AdmitHandler,
  Kubelet,
  type PodFeatures,
  type RuntimeGate,
  StartupLatency,
  unsupportedFeatureHandler,
} from '@node-agent/kubelet-core';
import { PodNetwork } from '@node-agent/network';
import { Pleg, PodCache } from '@node-agent/pleg';
import { PodConfig } from '@node-agent/pod-config';
import { PodManager } from '@node-agent/pod-manager';
import { type Pod, parseQuantity, type RuntimePodStatus } from '@node-agent/pod-spec';
import { PodWorkers, type PodWorkersComponents } from '@node-agent/pod-workers';
import { noHooks, PodRuntime, podSandboxChanged } from '@node-agent/runtime';
import { generateApiPodStatus, noProbeResults, StatusManager } from '@node-agent/status';
import { EmptyDirPlugin, HostPathPlugin, PodPaths, projectionPlugins, VolumeManager } from '@node-agent/volumes';
import type { ClusterNode } from './cluster-node.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import { hostIpsOf } from './host-ips.ts';
import type { AssemblySettings, Decorations, NodePorts } from './ports.ts';
import { RuntimeFacts } from './runtime-facts.ts';

/** A kubelet and the parts of it that a program or a test asks directly. */
export interface AssembledKubelet<C> {
  readonly kubelet: Kubelet<C>;
  readonly podConfig: PodConfig;
  readonly status: StatusManager;
  readonly podCache: PodCache;
  readonly runtime: PodRuntime;
}

/** What this kubelet does for pods beside running their containers. */
const FEATURES: PodFeatures = { probes: false, lifecycleHooks: false, userNamespaces: false, resourceClaims: false };

const PLEG_REPAIR_MS = 60_000;
const RESOLVER_CHECK_MS = 30_000;

/** Makes all managers and joins them. Does no I/O: that begins with `kubelet.run`. */
export function assembleKubelet<C>(
  ports: NodePorts,
  settings: AssemblySettings<C>,
  decorations: Decorations = {},
): AssembledKubelet<C> {
  const { clock, random, logger, metrics, recorder, cri, fs, mounter, cluster } = ports;
  const { rootDirectory, nodeName, nodeIps, node, restartFeatures } = settings;
  const child = (component: string) => ({ clock, random, metrics, recorder, logger: logger.child({ component }) });

  // The parts know each other in circles: what is made later is asked through these, and only once the kubelet runs.
  let workers: PodWorkers | undefined;
  let clusterNode: ClusterNode | undefined;
  let facts: RuntimeFacts | undefined;

  const hostIps = (): readonly string[] => {
    const told = hostIpsOf(clusterNode?.node ?? {});
    return told.length > 0 ? told : nodeIps;
  };

  const podManager = new PodManager();
  const podConfig = new PodConfig(child('pod-config'));
  const status = new StatusManager({
    ...child('status'),
    onChange: (change) => clusterNode?.statusWriter.statusChanged(change),
    getMirrorPodByPod: (pod) => podManager.getMirrorPodByPod(pod),
    ...(restartFeatures && { restartFeatures }),
  });
  const podCache = new PodCache();
  const startup = new StartupLatency({ clock, metrics });

  const network = new PodNetwork({ ...child('network'), fs }, { rootDirectory, nodeName, nodeIps, ...settings.dns });
  const paths = new PodPaths(rootDirectory);
  const allocatableMemory = settings.nodeAllocatable?.memory;
  // What is kept back of the machine's memory is not for volumes either.
  const allocatableMemoryBytes = allocatableMemory
    ? Number(parseQuantity(allocatableMemory).value())
    : node.resources.memoryCapacityBytes;
  const nodeAllocatable = () => clusterNode?.node?.status?.allocatable ?? settings.nodeAllocatable ?? {};
  const objects: ClusterObjects | undefined = cluster?.objects(child, settings, {
    nodeAnnotations: () => clusterNode?.node?.metadata.annotations,
    // Its volumes are brought up to date, and what waits for a secret in its environment need not wait for a back-off.
    onChange(uids) {
      for (const uid of uids) {
        volumes.refresh(uid);
        workers?.wake(uid);
      }
    },
  });
  const runtimeClasses = objects?.runtimeClasses;
  const supportsRecursiveReadOnly = (pod: Pod): boolean => {
    const handler = runtimeClasses?.knownHandlerOf(pod) ?? '';
    return facts?.handlers()?.find(({ name }) => name === handler)?.recursiveReadOnlyMounts ?? false;
  };
  const volumes: VolumeManager = new VolumeManager(
    {
      ...child('volumes'),
      onVolumeReady: (uid) => workers?.wake(uid),
      fs,
      mounter,
      paths,
      plugins: [
        new EmptyDirPlugin({ fs, mounter, paths }, { allocatableMemoryBytes }),
        new HostPathPlugin({ fs }),
        // Secrets, configMaps and tokens are the API server's: where there is none, they are refused by name.
        ...projectionPlugins(
          { fs, mounter, paths, clock, random, sources: { ...objects?.volumeSources, nodeAllocatable } },
          { allocatableMemoryBytes },
        ),
      ],
    },
    { supportsRecursiveReadOnly },
  );
  const { maxParallel, verification, ...pulls } = settings.pulls;
  const records =
    verification && new ImagePullRecords({ ...child('images'), fs, images: cri }, { rootDirectory, ...verification });
  const credentials = objects?.pullSecrets ?? ports.pullCredentials;
  const images = new ImageManager(
    {
      ...child('images'),
      images: cri,
      ...(credentials && { credentials }),
      ...(records && { records }),
      onPull: (...pull) => startup.pulled(...pull),
    },
    { ...pulls, ...(maxParallel !== undefined && { maxParallel }) },
  );

  const runtime = new PodRuntime(
    {
      ...child('runtime'),
      cri,
      fs,
      images,
      network,
      mounts: {
        async containerMounts(pod, container, podIps) {
          const hosts = await network.hostsMount(pod, container, podIps);
          const mounts = await volumes.containerMounts(pod, container);
          return hosts === undefined ? mounts : [...mounts, hosts];
        },
        volumePath: (pod, volumeName) => volumes.volumePath(pod, volumeName),
      },
      probes: { liveness: () => undefined, startup: () => undefined },
      hooks: noHooks,
      isPodTerminationRequested: (uid) => workers?.isPodTerminationRequested(uid) ?? false,
      hostIps,
      runtimeHandler: (pod, signal) => runtimeClasses?.handlerOf(pod, signal) ?? handlerWithoutServer(pod),
      nodeAllocatable,
      ...(objects && { objects: objects.environment, services: () => objects.clusterServices.all() }),
    },
    {
      node,
      rootDirectory,
      containerLogsDirectory: settings.containerLogsDirectory,
      backOff: settings.backOff,
      ...(restartFeatures && { features: restartFeatures }),
      startConcurrency: settings.startConcurrency,
    },
  );
  // Where the runtime's events are relied upon, this repairs what they missed: two calls for all pods together.
  const pleg = new Pleg({ ...child('pleg'), runtime, cache: podCache }, { repairPeriodMs: PLEG_REPAIR_MS });
  const containerGc = new ContainerGc(
    {
      ...child('container-gc'),
      cri,
      fs,
      runtime,
      pods: {
        shouldPodContentBeRemoved: (uid) => workers?.shouldPodContentBeRemoved(uid) ?? false,
        shouldPodRuntimeBeRemoved: (uid) => workers?.shouldPodRuntimeBeRemoved(uid) ?? false,
      },
    },
    {
      policy: settings.containerGc,
      podLogsDirectory: node.podLogsDirectory,
      containerLogsDirectory: settings.containerLogsDirectory,
    },
  );

  const { maxWorkers, ...logs } = settings.logs;
  const logManager = new ContainerLogManager({ ...child('container-logs'), cri, fs }, { ...logs, workers: maxWorkers });

  facts = new RuntimeFacts(runtime, cri);
  clusterNode = cluster?.node(child, settings, {
    statuses: status,
    pods: podManager,
    runtime: facts,
    kubelet: () => assembled,
    onServerHeard: () => objects?.clusterServices.retryNow(),
    safety: {
      couldHaveRunningContainers: (uid) => workers?.couldHaveRunningContainers(uid) ?? true,
      podResourcesAreReclaimed: (uid) => nothingLeft(podCache.get(uid)?.status),
    },
    mirrors: {
      isTerminating: (fullName, next) => workers?.isPodForMirrorPodTerminatingByFullName(fullName, next) ?? false,
      sourcesReady: () => podConfig.seenAllSources(),
    },
  });
  const joined = clusterNode;
  const assembled: Kubelet<C> = new Kubelet(
    {
      ...child('kubelet'),
      podConfig,
      podManager,
      podWorkers: (kubeletSyncer, gate) => {
        const decorated = decorations.podSyncer?.(kubeletSyncer) ?? kubeletSyncer;
        const syncer = objects?.holding(decorated) ?? decorated;
        workers = new PodWorkers(
          { ...child('pod-workers'), syncer, podCache: gatedCache(podCache, gate) },
          { resyncIntervalMs: settings.syncFrequencyMs },
        );
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
      ...(joined && { statusSeen: (uid) => joined.statusWriter.hint(uid), mirrorPods: joined.mirrorPods }),
      generatePodStatus: (pod, runtimeStatus, context) =>
        generateApiPodStatus(pod, runtimeStatus, {
          ...context,
          runtimeName: facts.name ?? 'unknown',
          startFailure: (container) => runtime.lastErrors(pod.metadata.uid, container),
          probes: noProbeResults,
          sandboxReady: !podSandboxChanged(pod, runtimeStatus).changed,
          hostIps: hostIps(),
          stopSignals: node.containerStopSignals,
          recursiveReadOnly: supportsRecursiveReadOnly(pod),
          ...(restartFeatures && { restartFeatures }),
        }),
      volumes,
      containerGc,
      admitHandlers: [
        unsupportedFeatureHandler(FEATURES),
        unsupportedVolumes(volumes),
        sysctlHandler(settings.admission?.sysctls ?? { kernelRelease: '', allowedUnsafe: [] }),
        predicateHandler(
          {
            node: () => clusterNode?.node ?? localNode(settings, facts),
            refresh: async (signal) => await clusterNode?.refresh(signal),
          },
          settings.admission,
        ),
        appArmorHandler({ enabled: settings.admission?.appArmor ?? true }),
        ...(settings.admitHandlers ?? []),
      ],
      services: [
        ...[...settings.sources, ...(clusterNode ? [clusterNode.podSource] : [])].map(({ name, make }) => {
          const source = make(podConfig.addSource(name));
          return { name: `pod source ${name}`, start: (signal: AbortSignal) => source.start(signal) };
        }),
        {
          name: 'resolver file check',
          start: (signal) => every(clock, RESOLVER_CHECK_MS, () => network.checkResolvConf(), signal),
        },
        ...(objects?.services ?? []),
        ...(clusterNode?.services ?? []),
      ],
      servers: settings.servers,
      runtimeDependentServices: [
        { name: 'log rotation', start: (signal) => logManager.start(signal) },
        ...(records ? [{ name: 'records of pulls', start: (signal: AbortSignal) => records.start(signal) }] : []),
      ],
    },
    { configuration: settings.configuration, nodeRef: { kind: 'Node', name: nodeName, uid: nodeName } },
  );
  return { kubelet: assembled, podConfig, status, podCache, runtime };
}

/** S5: nothing of the pod runs, and its sandbox is down; that its volumes are gone was seen before it was called finished. */
function nothingLeft(status: RuntimePodStatus | undefined): boolean {
  if (status === undefined) return true;
  return !status.sandboxes.some(({ state }) => state === 'ready') && !status.containers.some(mayStillRun);
}

function mayStillRun({ state }: RuntimePodStatus['containers'][number]): boolean {
  return state === 'running' || state === 'unknown';
}

/** Where there is no API server to ask, a pod that wants a runtime of its own must not get another. @throws Error */
async function handlerWithoutServer({ spec: { runtimeClassName: name } }: Pod): Promise<string> {
  if (!name) return '';
  throw new Error(`runtimeclass.node.k8s.io "${name}" cannot be looked up: there is no API server`);
}

/** The node as it is without an API server, or before that has told it. */
function localNode(
  { nodeName, nodeLabels, nodeAllocatable }: AssemblySettings<unknown>,
  facts: RuntimeFacts,
): AdmissionNode {
  const features = facts.features();
  return {
    metadata: { name: nodeName, ...(nodeLabels && { labels: nodeLabels }) },
    status: { ...(nodeAllocatable && { allocatable: nodeAllocatable }), ...(features && { features }) },
  };
}

function unsupportedVolumes(volumes: Pick<VolumeManager, 'unsupported'>): AdmitHandler {
  return {
    admit(pod) {
      const faults = volumes.unsupported(pod);
      if (faults.length === 0) return { admit: true };
      return { admit: false, reason: 'UnsupportedFeature', message: faults.join('; ') };
    },
  };
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
