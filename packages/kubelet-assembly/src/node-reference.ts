import type { ObjectReference } from '@node-agent/telemetry';

/**
 * Returns the object reference for events about the node itself. Its UID is the node's name: `kubectl describe node`
 * searches for events with the UID of the Node object, which a kubelet does not know before it has registered, and for
 * events with the node's name as UID. Upstream sets no UID (`pkg/kubelet/kubelet.go: NewMainKubelet`).
 */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', name: nodeName, uid: nodeName };
}
