import { CONFIG_HASH_ANNOTATION, CONFIG_MIRROR_ANNOTATION, type Pod } from '@node-agent/pod-spec';

/** What is to be done for the mirror pod of one full name. `wait`: nothing yet, and it is to be looked at again soon. */
export type MirrorStep = 'none' | 'create' | 'replace' | 'delete' | 'wait';

/** What is known of one full name. */
export interface MirrorFacts {
  readonly staticPod: Pod | undefined;
  readonly mirrorPod: Pod | undefined;
  /** A static pod of this name is being ended, or an older one still runs: what its mirror pod shows is still needed. */
  readonly terminating: boolean;
  /** It cannot show what the static pod does now, though it is of the same manifest. */
  readonly unfit: boolean;
  /** All pod sources have spoken: a static pod that is not known is not there (F1). */
  readonly sourcesReady: boolean;
}

/** F3: a mirror pod is made again if deleted or changed, and is not deleted while its static pod terminates. */
export function mirrorStep({ staticPod, mirrorPod, terminating, unfit, sourcesReady }: MirrorFacts): MirrorStep {
  if (staticPod === undefined) {
    if (mirrorPod === undefined) return 'none';
    return terminating || !sourcesReady ? 'wait' : 'delete';
  }
  if (mirrorPod === undefined) return 'create';
  if (mirrorPod.metadata.deletionTimestamp == null && isMirrorPodOf(mirrorPod, staticPod) && !unfit) return 'none';
  return terminating ? 'wait' : 'replace';
}

/** Whether a mirror pod shows this version of a static pod: its annotation has the hash of the manifest. */
function isMirrorPodOf(mirrorPod: Pod, staticPod: Pod): boolean {
  return mirrorPod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] === hashOf(staticPod);
}

/** The API object that stands for a static pod: it belongs to the node, as NodeRestriction demands (KEP-1314). */
export function mirrorPodOf(staticPod: Pod, node: { readonly name: string; readonly uid: string }): Pod {
  const { metadata, spec } = staticPod;
  const annotations = { ...metadata.annotations, [CONFIG_MIRROR_ANNOTATION]: hashOf(staticPod) };
  const owner = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, annotations, ownerReferences: [owner] }, spec };
}

function hashOf(staticPod: Pod): string {
  return staticPod.metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? '';
}
