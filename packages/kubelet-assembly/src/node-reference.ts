import type { ObjectReference } from '@node-agent/telemetry';

/**
 * Returns the reference for events about the node itself. As in upstream, the name stands in for the UID, which a
 * kubelet without an API server does not know.
 */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', name: nodeName, uid: nodeName };
}
