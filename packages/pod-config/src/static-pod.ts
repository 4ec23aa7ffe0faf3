import { createHash } from 'node:crypto';
import { bytesOfText } from '@node-agent/host';
import { CONFIG_HASH_ANNOTATION, type Pod, type Toleration } from '@node-agent/pod-spec';
import { canonicalJson, type JsonValue } from './plain-json.ts';

/** Location of a static pod's manifest, and the node that reads it. */
export interface ManifestOrigin {
  readonly kind: 'file' | 'http';
  /** Path of the file or URL; part of the pod's UID. */
  readonly location: string;
  readonly nodeName: string;
}

/** A v1 Pod of a manifest before defaulting. */
export type PodManifest = Pick<Pod, 'spec'> & {
  readonly metadata: Omit<Pod['metadata'], 'namespace' | 'uid'> & {
    readonly namespace?: string;
    readonly uid?: string;
  };
};

/**
 * Converts a manifest's pod to a static pod of this node (`pkg/kubelet/config/common.go`, `applyDefaults`). Sets a UID
 * if the manifest has none, and appends the node's name in lower case to the pod's name. Sets the namespace (default:
 * `default`), the node's name, the hash annotation and the status `Pending`. Pods from files get a toleration of every
 * `NoExecute` taint.
 */
export function toStaticPod(manifest: PodManifest, origin: ManifestOrigin): Pod {
  const { spec } = manifest;
  // A resource version comes from a pod of the API server that was copied into the manifest. The resource version is
  // dropped, because the comparison of versions would otherwise miss later changes of the manifest.
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
 * Returns a UID that is the same at each start for the same manifest at the same location: 32 hex digits, as in
 * upstream. The UID is computed from the manifest as written (before defaults, without status), the node's name, and
 * the path or URL. A different order of keys, changed comments or a new version of this program do not change the UID;
 * any change of content does.
 *
 * The digits differ from the Go kubelet's, which hashes a debug print of Go structs that changes with every version of
 * Kubernetes.
 */
function podUid(manifest: PodManifest, { kind, location, nodeName }: ManifestOrigin): string {
  const { metadata, spec } = manifest;
  const content: JsonValue = JSON.parse(JSON.stringify({ metadata, spec }));
  const hash = createHash('sha256').update(canonicalJson(content)).update('\0');
  hash.update(bytesOfText(kind === 'file' ? `host:${nodeName}file:${location}` : `url:${location}`));
  return hash.digest('hex').slice(0, 32);
}

/**
 * Adds a toleration of all `NoExecute` taints. It replaces a toleration with the same key, operator, effect and value.
 */
function withNoExecute(tolerations: readonly Toleration[]): readonly Toleration[] {
  const wanted: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const matches = (t: Toleration): boolean =>
    !t.key && t.operator === wanted.operator && t.effect === wanted.effect && !t.value;
  return tolerations.some(matches) ? tolerations.map((t) => (matches(t) ? wanted : t)) : [...tolerations, wanted];
}
