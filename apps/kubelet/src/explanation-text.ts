import { nodeExplanationText, podExplanationText } from '@node-agent/kubelet-core';

/** What the endpoint explains, as text: that of the node tells how many pods there are, the other is a pod's. */
export function explanationText(value: unknown, atMs: number): string {
  const isOfNode = typeof value === 'object' && value !== null && 'pods' in value;
  return isOfNode
    ? nodeExplanationText(value as Parameters<typeof nodeExplanationText>[0], atMs)
    : podExplanationText(value as Parameters<typeof podExplanationText>[0]);
}
