import type { Pod, Volume } from '@node-agent/pod-spec';
import { aggregateText } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { downwardApiPayload } from './downward-api-payload.ts';
import { configMapPayload, secretPayload } from './object-payload.ts';
import type { Payload, ProjectedFile } from './payload.ts';
import type { ObjectSource, ProjectionSources, TokenSource, TrustBundleSource } from './sources.ts';
import { podUser, tokenMode } from './token-owner.ts';

/** Type-specific part of volumes that the kubelet fills with files. */
export interface Projection {
  /** Name of the plugin in upstream's kubelet. */
  readonly name: string;
  /** Medium of the files. Secrets are never written to a disk (W4). */
  readonly medium: '' | 'Memory';
  canSupport(volume: Volume): boolean;
  /** Returns the sources of the volume that this kubelet does not support. */
  unsupported(volume: Volume): readonly string[];
  /** Collects the files of a volume. @throws VolumeError `MissingObject`, `InvalidSource`; the errors of the sources */
  collect(pod: Pod, volume: Volume, signal: AbortSignal): Promise<Payload>;
}

/** Default mode of files in ConfigMap, Secret, downward API and projected volumes, as in upstream. */
const DEFAULT_MODE = 0o644;

/** Returns the volume types that can be filled from these sources. */
export function projectionsOf(sources: ProjectionSources): readonly Projection[] {
  const { objects } = sources;
  const ofObjects = objects === undefined ? [] : [configMapProjection(objects), secretProjection(objects)];
  return [...ofObjects, downwardApiProjection(sources), projectedProjection(sources)];
}

function configMapProjection(objects: ObjectSource): Projection {
  return {
    name: 'kubernetes.io/configmap',
    medium: '',
    canSupport: ({ configMap }) => configMap !== undefined,
    unsupported: () => [],
    async collect({ metadata }, { configMap = {} }, signal) {
      const { name = '', defaultMode = DEFAULT_MODE } = configMap;
      return configMapPayload(
        name,
        await objects.getConfigMap(metadata.namespace, name, signal),
        configMap,
        defaultMode,
      );
    },
  };
}

function secretProjection(objects: ObjectSource): Projection {
  return {
    name: 'kubernetes.io/secret',
    medium: 'Memory',
    canSupport: ({ secret }) => secret !== undefined,
    unsupported: () => [],
    async collect({ metadata }, { secret = {} }, signal) {
      const { secretName = '', defaultMode = DEFAULT_MODE } = secret;
      return secretPayload(
        secretName,
        await objects.getSecret(metadata.namespace, secretName, signal),
        secret,
        defaultMode,
      );
    },
  };
}

function downwardApiProjection({ nodeAllocatable }: ProjectionSources): Projection {
  return {
    name: 'kubernetes.io/downward-api',
    medium: 'Memory',
    canSupport: ({ downwardAPI }) => downwardAPI !== undefined,
    unsupported: () => [],
    async collect(pod, { downwardAPI: { items = [], defaultMode = DEFAULT_MODE } = {} }) {
      return downwardApiPayload(pod, items, defaultMode, nodeAllocatable());
    },
  };
}

type ProjectedSource = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

/**
 * Combines several sources in one volume (`pkg/volume/projected`). If two sources have the same path, the later
 * source's file is used.
 */
function projectedProjection(sources: ProjectionSources): Projection {
  return {
    name: 'kubernetes.io/projected',
    medium: 'Memory',
    canSupport: ({ projected }) => projected !== undefined,
    unsupported: ({ projected }) => (projected?.sources ?? []).flatMap((source) => unavailableKinds(source, sources)),
    async collect(pod, { projected: { sources: parts = [], defaultMode = DEFAULT_MODE } = {} }, signal) {
      const files = new Map<string, ProjectedFile>();
      const failures: VolumeError[] = [];
      for (const part of parts) {
        try {
          const payload = await collectPart(pod, part, defaultMode, sources, signal);
          for (const [path, file] of payload) files.set(path, file);
        } catch (error) {
          signal.throwIfAborted();
          failures.push(VolumeError.from(error));
        }
      }
      const [first] = failures;
      if (first === undefined) return files;
      throw new VolumeError(first.code, aggregateText(failures.map(({ message }) => message)), first);
    },
  };
}

function unavailableKinds(
  source: ProjectedSource,
  { objects, tokens, trustBundles }: ProjectionSources,
): readonly string[] {
  const available: Readonly<Record<string, boolean>> = {
    downwardAPI: true,
    configMap: objects !== undefined,
    secret: objects !== undefined,
    serviceAccountToken: tokens !== undefined,
    clusterTrustBundle: trustBundles !== undefined,
  };
  return Object.entries(source).flatMap(([kind, value]) => (value === undefined || available[kind] ? [] : [kind]));
}

async function collectPart(
  pod: Pod,
  part: ProjectedSource,
  defaultMode: number,
  { objects, tokens, trustBundles, nodeAllocatable }: ProjectionSources,
  signal: AbortSignal,
): Promise<Payload> {
  const { namespace } = pod.metadata;
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = part;
  if (secret && objects) {
    const { name = '' } = secret;
    return secretPayload(name, await objects.getSecret(namespace, name, signal), secret, defaultMode);
  }
  if (configMap && objects) {
    const { name = '' } = configMap;
    return configMapPayload(name, await objects.getConfigMap(namespace, name, signal), configMap, defaultMode);
  }
  if (downwardAPI) return downwardApiPayload(pod, downwardAPI.items ?? [], defaultMode, nodeAllocatable());
  if (serviceAccountToken && tokens) return tokenPayload(pod, serviceAccountToken, defaultMode, tokens, signal);
  if (clusterTrustBundle && trustBundles) {
    return trustBundlePayload(pod, clusterTrustBundle, defaultMode, trustBundles, signal);
  }
  throw new VolumeError('InvalidSource', 'projected volume source must name a source type');
}

async function tokenPayload(
  pod: Pod,
  token: NonNullable<ProjectedSource['serviceAccountToken']>,
  defaultMode: number,
  tokens: TokenSource,
  signal: AbortSignal,
): Promise<Payload> {
  const { audience, expirationSeconds, path } = token;
  const request = { ...(audience && { audience }), ...(expirationSeconds !== undefined && { expirationSeconds }) };
  return ownedPayload(pod, path, defaultMode, await tokens.getServiceAccountToken(pod, request, signal));
}

async function trustBundlePayload(
  pod: Pod,
  bundle: NonNullable<ProjectedSource['clusterTrustBundle']>,
  defaultMode: number,
  trustBundles: TrustBundleSource,
  signal: AbortSignal,
): Promise<Payload> {
  const { name, signerName, labelSelector, optional = false, path } = bundle;
  if (name !== undefined) {
    return ownedPayload(pod, path, defaultMode, await trustBundles.byName(name, optional, signal));
  }
  if (signerName === undefined) {
    const message = 'ClusterTrustBundle projection requires either name or signerName to be set';
    throw new VolumeError('InvalidSource', message);
  }
  const anchors = await trustBundles.bySigner(signerName, labelSelector, optional, signal);
  return ownedPayload(pod, path, defaultMode, anchors);
}

/** Returns a payload of one file. If all containers run as the same user, that user owns the file. */
function ownedPayload(pod: Pod, path: string, defaultMode: number, text: string): Payload {
  const ownerUid = podUser(pod);
  const mode = tokenMode(defaultMode, ownerUid, pod.spec.securityContext?.fsGroup);
  return new Map([[path, { data: Buffer.from(text), mode, ...(ownerUid !== undefined && { ownerUid }) }]]);
}
