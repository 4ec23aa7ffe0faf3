import { createHash } from 'node:crypto';
import { bytesOfText } from '@node-agent/host';
import { CONFIG_HASH_ANNOTATION, type Pod, type Toleration } from '@node-agent/pod-spec';
import { canonicalJson, type JsonValue } from './plain-json.ts';

/** Where a static pod's manifest was found, and for which node it is read. */
export interface ManifestOrigin {
  readonly kind: 'file' | 'http';
  /** The file's path or the URL: part of the pod's UID. */
  readonly location: string;
  readonly nodeName: string;
}

/** A v1 Pod of a manifest, before defaults. */
export type PodManifest = Pick<Pod, 'spec'> & {
  readonly metadata: Omit<Pod['metadata'], 'namespace' | 'uid'> & {
    readonly namespace?: string;
    readonly uid?: string;
  };
};

/**
 * Makes a manifest's pod this node's own (`pkg/kubelet/config/common.go`, `applyDefaults`): a UID where it has none,
 * the name with the node's (in lower case) at its end, the namespace `default`, the node's name, the hash annotation,
 * for pods of files a toleration of every `NoExecute` taint, and the status `Pending`.
 */
export function toStaticPod(manifest: PodManifest, origin: ManifestOrigin): Pod {
  const { spec } = manifest;
  // A version is the API server's, of whose pod this is a copy by now: a change of the manifest would not be seen by it.
  const { resourceVersion: _, ...metadata } = manifest.metadata;
  const uid = metadata.uid || podUid(manifest, origin);
  const tolerations = spec.tolerations ?? [];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      uid,
      name: `${metadata.name}-${origin.nodeName.toLowerCase()}`,
      namespace: metadata.namespace || 'default',
      annotations: { ...metadata.annotations, [CONFIG_HASH_ANNOTATION]: uid },
    },
    spec: {
      ...spec,
      nodeName: origin.nodeName,
      ...(origin.kind === 'file' ? { tolerations: withNoExecute(tolerations) } : {}),
    },
    status: { phase: 'Pending' },
  };
}

/**
 * A UID that is the same at each start, for the same manifest at the same place: 32 hex digits as upstream's, over the
 * manifest as written (before defaults, without status), the node's name and the path, or the URL. So another order of
 * keys, comments or a new version of this program leave it alone, and any change of content makes another pod.
 *
 * The digits differ from the Go kubelet's: those hash a debug print of Go's internal structures, which changes with
 * every version of Kubernetes.
 */
function podUid(manifest: PodManifest, { kind, location, nodeName }: ManifestOrigin): string {
  const { metadata, spec } = manifest;
  const content: JsonValue = JSON.parse(JSON.stringify({ metadata, spec }));
  const hash = createHash('sha256').update(canonicalJson(content)).update('\0');
  hash.update(bytesOfText(kind === 'file' ? `host:${nodeName}file:${location}` : `url:${location}`));
  return hash.digest('hex').slice(0, 32);
}

/** The tolerations with one of all `NoExecute` taints, in place of one of the same key, operator, effect and value. */
function withNoExecute(tolerations: readonly Toleration[]): readonly Toleration[] {
  const wanted: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const matches = (t: Toleration): boolean =>
    !t.key && t.operator === wanted.operator && t.effect === wanted.effect && !t.value;
  return tolerations.some(matches) ? tolerations.map((t) => (matches(t) ? wanted : t)) : [...tolerations, wanted];
}
