import { ContainerGc } from '@node-agent/container-gc';
import { ContainerLogManager } from '@node-agent/container-logs';
import { ImageManager } from '@node-agent/images';
import {
  type AdmitHandler,
  Kubelet,
  type PodFeatures,
  type PodWorkersPort,
  type RuntimeGate,
  unsupportedFeatureHandler,
} from '@node-agent/kubelet-core';
import { PodNetwork } from '@node-agent/network';
import { Pleg, PodCache } from '@node-agent/pleg';
import { PodConfig } from '@node-agent/pod-config';
import { PodManager } from '@node-agent/pod-manager';
import { PodWorkers, type PodWorkersComponents } from '@node-agent/pod-workers';
import { noHooks, PodRuntime, podSandboxChanged } from '@node-agent/runtime';
import { generateApiPodStatus, noProbeResults, StatusManager } from '@node-agent/status';
import { EmptyDirPlugin, HostPathPlugin, PodPaths, projectionPlugins, VolumeManager } from '@node-agent/volumes';
import type { AssemblySettings, Decorations, NodePorts } from './ports.ts';

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

/** Makes all managers and joins them. Does no I/O: that begins with `kubelet.run`. */
export function assembleKubelet<C>(
  ports: NodePorts,
  settings: AssemblySettings<C>,
  decorations: Decorations = {},
): AssembledKubelet<C> {
  const { clock, random, logger, metrics, recorder, cri, fs, mounter } = ports;
  const { rootDirectory, nodeName, nodeIps, node } = settings;
  const child = (component: string) => ({ clock, random, metrics, recorder, logger: logger.child({ component }) });

  const podManager = new PodManager();
  const podConfig = new PodConfig(child('pod-config'));
  const status = new StatusManager(child('status'));
  const podCache = new PodCache();

  const network = new PodNetwork({ ...child('network'), fs }, { rootDirectory, nodeName, nodeIps, ...settings.dns });
  const paths = new PodPaths(rootDirectory);
  const allocatableMemoryBytes = node.resources.memoryCapacityBytes;
  const nodeAllocatable = () => settings.nodeAllocatable ?? {};
  const volumes = new VolumeManager({
    ...child('volumes'),
    fs,
    mounter,
    paths,
    plugins: [
      new EmptyDirPlugin({ fs, mounter, paths }, { allocatableMemoryBytes }),
      new HostPathPlugin({ fs }),
      // Secrets, configMaps and tokens are the API server's, which there is none of yet: they are refused by name.
      ...projectionPlugins(
        { fs, mounter, paths, clock, random, sources: { nodeAllocatable } },
        { allocatableMemoryBytes },
      ),
    ],
  });
  const { maxParallel, ...pulls } = settings.pulls;
  const images = new ImageManager(
    { ...child('images'), images: cri },
    { ...pulls, ...(maxParallel !== undefined && { maxParallel }) },
  );

  // The workers are made around the kubelet, which is made around the runtime, which asks the workers.
  let workers: PodWorkersPort | undefined;
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
      },
      probes: { liveness: () => undefined, startup: () => undefined },
      hooks: noHooks,
      isPodTerminationRequested: (uid) => workers?.isPodTerminationRequested(uid) ?? false,
      hostIps: () => nodeIps,
      nodeAllocatable,
    },
    {
      node,
      rootDirectory,
      containerLogsDirectory: settings.containerLogsDirectory,
      backOff: settings.backOff,
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

  // The name that the runtime gives itself stands before each container id; it is known before any pod is synced.
  let runtimeName: string | undefined;
  const kubelet = new Kubelet(
    {
      ...child('kubelet'),
      podConfig,
      podManager,
      podWorkers: (kubeletSyncer, gate) => {
        const syncer = decorations.podSyncer?.(kubeletSyncer) ?? kubeletSyncer;
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
        async status(signal) {
          const state = await runtime.status(signal);
          runtimeName ??= (await runtime.version(signal)).name;
          return state;
        },
      },
      status,
      generatePodStatus: (pod, runtimeStatus, context) =>
        generateApiPodStatus(pod, runtimeStatus, {
          ...context,
          runtimeName: runtimeName ?? 'unknown',
          startFailure: (container) => runtime.lastErrors(pod.metadata.uid, container),
          probes: noProbeResults,
          sandboxReady: !podSandboxChanged(pod, runtimeStatus).changed,
          hostIps: nodeIps,
        }),
      volumes,
      containerGc,
      admitHandlers: [unsupportedFeatureHandler(FEATURES), unsupportedVolumes(volumes), ...settings.admitHandlers],
      services: [
        ...settings.sources.map(({ name, make }) => {
          const source = make(podConfig.addSource(name));
          return { name: `pod source ${name}`, start: (signal: AbortSignal) => source.start(signal) };
        }),
        { name: 'resolver file check', start: () => network.checkResolvConf() },
      ],
      servers: settings.servers,
      runtimeDependentServices: [{ name: 'log rotation', start: (signal) => logManager.start(signal) }],
    },
    { configuration: settings.configuration, nodeRef: { kind: 'Node', name: nodeName, uid: nodeName } },
  );
  return { kubelet, podConfig, status, podCache, runtime };
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
