import { resources } from '@node-agent/kube-client';
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
import type { ClaimSource, ProjectionSources } from '@node-agent/volumes';
import { clusterClaims } from './cluster-claims.ts';
import type { ClusterPorts, ClusterSettings, PartComponents } from './cluster-ports.ts';
import { ClusterServices } from './cluster-services.ts';
import { RuntimeClasses } from './runtime-classes.ts';

/** What the objects ask of the node, and tell it. */
export interface ObjectHooks {
  /** The node's, once it is known: they may say for how long objects are fresh. */
  readonly nodeAnnotations: () => Readonly<Record<string, string>> | undefined;
  /** A secret or config map has changed that these pods refer to. */
  readonly onChange: (podUids: readonly string[]) => void;
}

/** What pods need from the API server beside themselves: secrets, config maps, tokens, trust anchors, logins for images. */
export class ClusterObjects {
  readonly pullSecrets: PullSecrets;
  /** Secrets and config maps, for environments. */
  readonly environment: PodObjects;
  readonly clusterServices: ClusterServices;
  readonly runtimeClasses: RuntimeClasses;
  readonly volumeSources: Omit<ProjectionSources, 'nodeAllocatable'>;
  readonly claims: Omit<ClaimSource, 'nodeLabels'>;
  /** Run beside the sync loop. */
  readonly services: readonly BackgroundService[];
  readonly #objects: ObjectCache;
  readonly #tokens: TokenManager;
  readonly #trustBundles: ClusterTrustBundles;

  constructor(
    child: (component: string) => PartComponents,
    { requests: client, nodeCredentials }: ClusterPorts,
    { changeDetection: strategy, syncFrequencyMs }: ClusterSettings & { readonly syncFrequencyMs: number },
    { nodeAnnotations, onChange }: ObjectHooks,
  ) {
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
    this.runtimeClasses = new RuntimeClasses(client);
    this.clusterServices = new ClusterServices({ ...child('services'), client });
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
      { name: 'trust bundles', start: (signal) => trustBundles.start(signal) },
    ];
  }

  /** The syncer, with what a pod refers to held on to from before its first sync to its end. */
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

  /** The API server may have lost what it had: all that is known of it is read again. */
  listAnew(): void {
    this.clusterServices.listAnew();
    this.#objects.listAnew();
    this.#trustBundles.listAnew();
  }

  #letGo(pod: Pod): void {
    this.#objects.unregisterPod(pod);
    this.#tokens.deleteForPod(pod.metadata.uid);
  }
}
