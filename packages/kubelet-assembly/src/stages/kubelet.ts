import { every } from '@node-agent/async';
import { type BackgroundService, type Dependencies, Kubelet, type RuntimeGate } from '@node-agent/kubelet-core';
import type { PodCache } from '@node-agent/pleg';
import type { PodConfig } from '@node-agent/pod-config';
import type { ContainerStatus, Pod } from '@node-agent/pod-spec';
import { PodWorkers, type PodWorkersComponents } from '@node-agent/pod-workers';
import { podSandboxChanged } from '@node-agent/runtime';
import { generateApiPodStatus } from '@node-agent/status';
import type { ClusterNode } from '../cluster-node.ts';
import { nodeReference } from '../node-reference.ts';
import { tracedCollection, tracedSyncer } from '../pod-tracing.ts';
import type { AssemblySettings, PodSourcePort } from '../ports.ts';
import type { AssemblyBase } from './base.ts';
import type { ResourcesStage } from './resources.ts';
import type { RuntimeStage } from './runtime.ts';
import type { SourcesStage } from './sources.ts';

type ResourcesStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>;

const RESOLVER_CHECK_MS = 30_000;

/** Output of the first four stages of the assembly, which create everything except the kubelet. */
export interface AssembledParts {
  readonly sources: SourcesStage;
  readonly runtime: RuntimeStage;
  readonly resources: ResourcesStage;
  readonly clusterNode: ClusterNode | undefined;
}

/** Stage 5 of the assembly: creates the `Kubelet`, which uses all other components, and its pod workers. */
export function assembleKubeletCore<C>(base: AssemblyBase<C>, parts: AssembledParts): Kubelet<C> {
  const { settings, child, late, ports } = base;
  const { tracer } = ports;
  const { sources, runtime, resources, clusterNode } = parts;
  const { cgroups, userNamespaces, devices, claims, images, containers } = runtime;
  const { eviction } = resources;
  const { gc: imageGc } = images;
  const { podConfig, podManager, status, startup, journal, prober } = sources;
  const kubelet = new Kubelet<C>(
    {
      ...child('kubelet'),
      ...{ podConfig, podManager, status, startup, journal },
      podWorkers: podWorkers(base, parts),
      pleg: containers.pleg,
      podCache: containers.podCache,
      runtime: runtimePort(runtime),
      ...(clusterNode && {
        apiStatusChanged: (uid) => clusterNode.statusWriter.hint(uid),
        mirrorPods: clusterNode.mirrorPods,
      }),
      generatePodStatus: podStatusGenerator(base, parts),
      volumes: runtime.volumes,
      ...(cgroups && { cgroups }),
      ...(userNamespaces && { userNamespaces }),
      ...(devices && { devices }),
      ...(claims && { claims }),
      probes: prober,
      containerGc: {
        garbageCollect: tracedCollection(tracer, 'Containers/GarbageCollect', (...args) =>
          containers.gc.garbageCollect(...args),
        ),
        deleteContainersInPod: (...args) => containers.gc.deleteContainersInPod(...args),
      },
      ...(imageGc && {
        imageGc: {
          garbageCollect: tracedCollection(tracer, 'Images/GarbageCollect', (signal) => imageGc.garbageCollect(signal)),
        },
      }),
      ...(eviction && { eviction }),
      admitHandlers: late.admitHandlers.value,
      allocation: runtime.allocation,
      services: services(base, parts),
      servers: settings.servers,
      runtimeDependentServices: runtimeDependentServices(parts),
    },
    {
      configuration: settings.configuration,
      nodeRef: nodeReference(settings.nodeName),
      syncFrequencyMs: settings.syncFrequencyMs,
    },
  );
  late.kubelet.set(kubelet);
  return kubelet;
}

/**
 * Creates the pod workers around the syncer of the kubelet. A call of `syncPod` passes these layers, from the outside
 * in:
 *
 * 1. `PodWorkers` calls the syncer when the pod's worker has an update and the runtime is healthy ({@link gatedCache}).
 * 2. `ClusterObjects.holding` registers the Secrets and ConfigMaps of the pod before its first sync, and releases them
 * after its last. Absent without an API server.
 * 3. `Decorations.podSyncer` of the program: the simulation and tests observe the steps there. Absent in the real
 * kubelet.
 * 4. {@link tracedSyncer} makes a span of each step. Absent if tracing is off.
 * 5. `Kubelet` records the outcome, for retries of waiting resizes and for its health.
 * 6. `KubeletPodSyncer` of kubelet-core does the work.
 */
function podWorkers<C>(
  { child, settings, decorations, late, ports: { tracer } }: AssemblyBase<C>,
  { sources: { objects }, runtime: { containers } }: AssembledParts,
): Dependencies['podWorkers'] {
  return (kubeletSyncer, gate) => {
    const traced = tracer === undefined ? kubeletSyncer : tracedSyncer(tracer, kubeletSyncer);
    const decorated = decorations.podSyncer?.(traced) ?? traced;
    const syncer = objects?.holding(decorated) ?? decorated;
    const podCache = gatedCache(containers.podCache, gate);
    return late.workers.set(
      new PodWorkers({ ...child('pod-workers'), syncer, podCache }, { resyncIntervalMs: settings.syncFrequencyMs }),
    );
  };
}

/**
 * Wraps the pod cache for the pod workers. A read waits until the runtime is healthy. Each step of a worker starts with
 * a read, so no step starts while the runtime is down.
 */
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

function runtimePort({ containers: { runtime }, facts }: RuntimeStage): Dependencies['runtime'] {
  return {
    getPods: (signal) => runtime.getPods(signal),
    getPod: (uid, signal) => runtime.getPod(uid, signal),
    getPodStatus: (uid, name, namespace, signal) => runtime.getPodStatus(uid, name, namespace, signal),
    syncPod: (pod, podStatus, signal) => runtime.syncPod(pod, podStatus, signal),
    finishStarts: (pod, podStatus, signal) => runtime.finishStarts(pod, podStatus, signal),
    killPod: (pod, running, graceSeconds, signal) => runtime.killPod(pod, running, graceSeconds, signal),
    containerEnded: (uid, containerId) => runtime.containerEnded(uid, containerId),
    forget: (uid) => runtime.forget(uid),
    status: (signal) => facts.status(signal),
  };
}

function podStatusGenerator(
  { settings }: AssemblyBase,
  { sources: { prober }, runtime: stage }: AssembledParts,
): Dependencies['generatePodStatus'] {
  const { restartFeatures, node } = settings;
  const { facts, containers, allocation, cgroups, supportsRecursiveReadOnly } = stage;
  const health = resourcesHealth(settings, stage);
  return (pod, runtimeStatus, context) =>
    generateApiPodStatus(pod, runtimeStatus, {
      ...context,
      runtimeName: facts.name ?? 'unknown',
      startFailure: (container) => containers.runtime.lastErrors(pod.metadata.uid, container),
      probes: prober.results,
      sandboxReady: !podSandboxChanged(pod, runtimeStatus).changed,
      hostIps: stage.node.hostIps(),
      ...(node.podIpFamily && { podIpFamily: node.podIpFamily }),
      stopSignals: node.containerStopSignals,
      recursiveReadOnly: supportsRecursiveReadOnly(pod),
      resizeConditions: allocation.conditions(pod.metadata.uid),
      ...(health && { resourcesStatus: (container: string) => health(pod, container) }),
      groupLimits: cgroups?.knownLimits(pod.metadata.uid),
      ...(restartFeatures && { restartFeatures }),
    });
}

/**
 * Returns a function that returns the health of a container's devices, those of device plugins first. Returns
 * `undefined` if the node shows no device health.
 */
function resourcesHealth({ devices: shown }: AssemblySettings, { devices, claims }: RuntimeStage) {
  const plugged = shown?.healthStatus === false ? undefined : devices;
  if (plugged === undefined && claims === undefined) return undefined;
  return (pod: Pod, name: string): ResourcesStatus => {
    const own = plugged?.resourcesStatus(pod.metadata.uid, name) ?? [];
    const container = claims && pod.spec.containers.find((one) => one.name === name);
    return container === undefined ? own : [...own, ...(claims?.resourcesStatus(pod, container) ?? [])];
  };
}

/** Returns the services that run beside the sync loop from its start. */
function services(
  { ports: { clock }, settings }: AssemblyBase,
  { sources, runtime, resources, clusterNode }: AssembledParts,
): readonly BackgroundService[] {
  const { podConfig, prober, objects } = sources;
  const { network, devices, claims, resourceManagers, plugins, csi, oomWatcher } = runtime;
  const { measured, stats } = resources;
  const podSources = [...settings.sources, ...(clusterNode ? [clusterNode.podSource] : [])];
  return [
    ...podSources.map((source) => sourceService(source, podConfig)),
    {
      name: 'resolver file check',
      start: (signal) => every(clock, RESOLVER_CHECK_MS, () => network.checkResolvConf(), signal),
    },
    ...optional('device plugins', devices),
    ...optional('resource claims', claims),
    ...optional('CPU, memory and topology managers', resourceManagers),
    ...optional('plugin watcher', plugins),
    ...optional('prober', prober),
    ...optional('measuring of volumes', stats && measured),
    ...optional('OOM watcher', oomWatcher),
    ...(objects?.services ?? []),
    ...(csi?.services ?? []),
    ...(clusterNode?.services ?? []),
  ];
}

/** Returns the services that start when the runtime reports ready for the first time. */
function runtimeDependentServices({ runtime, resources }: AssembledParts): readonly BackgroundService[] {
  return [
    ...optional('pod CIDR', runtime.podCidr),
    ...optional('cgroups', runtime.cgroups),
    ...runtime.containers.services,
    ...runtime.images.services,
    ...optional('eviction', resources.eviction),
    ...optional('node shutdown', resources.shutdown),
  ];
}

function optional(name: string, part: Pick<BackgroundService, 'start'> | undefined): readonly BackgroundService[] {
  return part === undefined ? [] : [{ name, start: (signal) => part.start(signal) }];
}

function sourceService({ name, make }: PodSourcePort, podConfig: PodConfig): BackgroundService {
  const source = make(podConfig.addSource(name));
  return { name: `pod source ${name}`, start: (signal) => source.start(signal) };
}
