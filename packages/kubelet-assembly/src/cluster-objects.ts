import type { CsiNodeApi } from '@node-agent/csi';
import type { ClaimSource as ResourceClaimSource, SliceRemoval } from '@node-agent/dra';
import { Reflector, resources } from '@node-agent/kube-client';
import type { BackgroundService, PodSyncer } from '@node-agent/kubelet-core';
import {
  ClusterTrustBundles,
  ObjectCache,
  objectTtlMs,
  type PodObjects,
  PullSecrets,
  podObjects,
  podTokens,
  TokenManager,
} from '@node-agent/object-cache';
import type { Pod } from '@node-agent/pod-spec';
import type { ClaimSource, CsiPluginComponents, ProjectionSources } from '@node-agent/volumes';
import { clusterClaims } from './cluster-claims.ts';
import { CsiDriverObjects, clusterCsi, csiTokens, watchedCsiDrivers } from './cluster-csi.ts';
import { clusterCsiNode } from './cluster-csi-node.ts';
import type { ClusterPorts, ClusterSettings, PartComponents } from './cluster-ports.ts';
import { clusterResourceClaims, clusterResourceSlices } from './cluster-resource-claims.ts';
import { ClusterServices, watchedServices } from './cluster-services.ts';
import { RuntimeClasses } from './runtime-classes.ts';

/** Callbacks of {@link ClusterObjects}. */
export interface ObjectHooks {
  /** Returns the node's annotations once they are known. An annotation may set how long cached objects are fresh. */
  readonly nodeAnnotations: () => Readonly<Record<string, string>> | undefined;
  /** Called when a Secret or ConfigMap has changed. @param podUids the pods that refer to the changed object */
  readonly onChange: (podUids: readonly string[]) => void;
}

/** Objects of the API server that pods need: Secrets, ConfigMaps, tokens, trust bundles, image pull credentials. */
export class ClusterObjects {
  readonly pullSecrets: PullSecrets;
  /** Secrets and ConfigMaps that the environment variables and volumes of pods refer to. */
  readonly environment: PodObjects;
  readonly clusterServices: ClusterServices;
  readonly runtimeClasses: RuntimeClasses;
  readonly volumeSources: Omit<ProjectionSources, 'nodeAllocatable'>;
  readonly claims: Omit<ClaimSource, 'nodeLabels'>;
  readonly csi: Pick<CsiPluginComponents, 'objects' | 'tokens'>;
  readonly csiDrivers: CsiDriverObjects;
  /** Reads and writes the Node and CSINode objects of this node. */
  readonly csiNode: CsiNodeApi;
  readonly resourceClaims: ResourceClaimSource;
  readonly resourceSlices: SliceRemoval;
  /** Services that run alongside the sync loop. */
  readonly services: readonly BackgroundService[];
  readonly #objects: ObjectCache;
  readonly #tokens: TokenManager;
  readonly #trustBundles: ClusterTrustBundles;

  constructor(
    child: (component: string) => PartComponents,
    { requests: client, nodeCredentials, watched }: ClusterPorts,
    settings: ClusterSettings & { readonly syncFrequencyMs: number; readonly nodeName: string },
    { nodeAnnotations, onChange }: ObjectHooks,
  ) {
    const { changeDetection: strategy, syncFrequencyMs, nodeName } = settings;
    const objects = new ObjectCache(
      { ...child('object-cache'), client, onChange },
      { strategy, syncFrequencyMs, ttlMs: () => objectTtlMs(nodeAnnotations()) },
    );
    const tokens = new TokenManager({ ...child('tokens'), client });
    const trustBundles = new ClusterTrustBundles({ ...child('trust-bundles'), client });
    this.#objects = objects;
    this.#tokens = tokens;
    this.#trustBundles = trustBundles;
    this.environment = podObjects(objects);
    this.volumeSources = { objects: this.environment, tokens: podTokens(tokens), trustBundles };
    this.claims = clusterClaims(client);
    this.csiDrivers = new CsiDriverObjects(
      watched?.csiDrivers ?? new Reflector({ ...child('csi-drivers'), client }, watchedCsiDrivers),
    );
    this.csiNode = clusterCsiNode(child('csi-node').clock, client, nodeName);
    this.csi = { objects: clusterCsi(client, this.csiDrivers), tokens: csiTokens(tokens) };
    this.resourceClaims = clusterResourceClaims(client);
    this.resourceSlices = clusterResourceSlices(client, nodeName);
    this.runtimeClasses = new RuntimeClasses(client);
    this.clusterServices = new ClusterServices(
      watched?.services ?? new Reflector({ ...child('services'), client }, watchedServices),
    );
    this.pullSecrets = new PullSecrets({
      ...child('pull-secrets'),
      secrets: objects,
      ...(nodeCredentials && {
        node: nodeCredentials({
          tokens,
          getServiceAccount: (namespace, name, signal) =>
            client.get(resources.serviceAccounts, { namespace, name }, signal),
        }),
      }),
    });
    this.services = [
      { name: 'object cache', start: (signal) => objects.start(signal) },
      { name: 'tokens', start: (signal) => tokens.start(signal) },
      this.clusterServices,
      this.csiDrivers,
      { name: 'trust bundles', start: (signal) => trustBundles.start(signal) },
    ];
  }

  /**
   * Wraps the syncer so that the objects a pod refers to are registered from before its first sync until it has
   * terminated.
   */
  holding(syncer: PodSyncer): PodSyncer {
    return {
      syncPod: (updateType, pod, ...rest) => {
        this.#objects.registerPod(pod);
        return syncer.syncPod(updateType, pod, ...rest);
      },
      syncTerminatingPod: (...args) => syncer.syncTerminatingPod(...args),
      syncTerminatingRuntimePod: (...args) => syncer.syncTerminatingRuntimePod(...args),
      syncTerminatedPod: async (pod, ...rest) => {
        await syncer.syncTerminatedPod(pod, ...rest);
        this.#letGo(pod);
      },
    };
  }

  /** Reads all known objects again, because the API server may have lost its data. */
  listAnew(): void {
    this.clusterServices.listAnew();
    this.csiDrivers.listAnew();
    this.#objects.listAnew();
    this.#trustBundles.listAnew();
  }

  #letGo(pod: Pod): void {
    this.#objects.unregisterPod(pod);
    this.#tokens.deleteForPod(pod.metadata.uid);
  }
}
