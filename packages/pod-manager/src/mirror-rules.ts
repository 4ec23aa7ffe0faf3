import { CONFIG_HASH_ANNOTATION, CONFIG_MIRROR_ANNOTATION, type Pod } from '@node-agent/pod-spec';

/**
 * Action for the mirror pod of one full name. `wait` means that there is no action yet, and that the caller must check
 * again soon.
 */
export type MirrorStep = 'none' | 'create' | 'replace' | 'delete' | 'wait';

/** Facts about the static pod and the mirror pod of one full name. */
export interface MirrorFacts {
  readonly staticPod: Pod | undefined;
  readonly mirrorPod: Pod | undefined;
  /**
   * Whether a static pod of this name is terminating or an older static pod still runs, so that the status in its
   * mirror pod is still needed.
   */
  readonly terminating: boolean;
  /** Whether the mirror pod cannot show the static pod's current status, although it has the same manifest. */
  readonly unfit: boolean;
  /** Whether all pod sources have reported, so that an unknown static pod does not exist (F1). */
  readonly sourcesReady: boolean;
}

/**
 * Returns the next step for the mirror pod of one full name. F3: a mirror pod is recreated if it was deleted or
 * changed, and is not deleted while its static pod terminates.
 */
export function mirrorStep({ staticPod, mirrorPod, terminating, unfit, sourcesReady }: MirrorFacts): MirrorStep {
  if (staticPod === undefined) {
    if (mirrorPod === undefined) return 'none';
    return terminating || !sourcesReady ? 'wait' : 'delete';
  }
  if (mirrorPod === undefined) return 'create';
  if (mirrorPod.metadata.deletionTimestamp == null && isMirrorPodOf(mirrorPod, staticPod) && !unfit) return 'none';
  return terminating ? 'wait' : 'replace';
}

/**
 * Returns whether a mirror pod represents this version of a static pod: its annotation has the hash of the manifest.
 */
function isMirrorPodOf(mirrorPod: Pod, staticPod: Pod): boolean {
  return mirrorPod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] === hashOf(staticPod);
}

/** Returns the API object that represents a static pod. The node owns it, as NodeRestriction requires (KEP-1314). */
export function mirrorPodOf(staticPod: Pod, node: { readonly name: string; readonly uid: string }): Pod {
  const { metadata, spec } = staticPod;
  const annotations = { ...metadata.annotations, [CONFIG_MIRROR_ANNOTATION]: hashOf(staticPod) };
  const owner = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, annotations, ownerReferences: [owner] }, spec };
}

function hashOf(staticPod: Pod): string {
  return staticPod.metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? '';
}
