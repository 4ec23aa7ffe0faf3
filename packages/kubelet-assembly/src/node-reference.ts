import type { ObjectReference } from '@node-agent/telemetry';

/**
 * Returns the object reference for events about the node itself. As in upstream, the UID of the reference is the node's
 * name, because a kubelet without an API server does not know the UID.
 */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', name: nodeName, uid: nodeName };
}
