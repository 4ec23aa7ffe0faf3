import type { ObjectReference } from '@node-agent/telemetry';

/** What events about the node itself refer to: as upstream's, the name stands for the UID, which a kubelet alone does not know. */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', name: nodeName, uid: nodeName };
}
