import { nodeExplanationText, podExplanationText } from '@node-agent/kubelet-core';

/**
 * Formats an explanation of the explain endpoint as text: the explanation of the node if `value` has the field `pods`,
 * otherwise the explanation of a pod.
 */
export function explanationText(value: unknown, atMs: number): string {
  const isOfNode = typeof value === 'object' && value !== null && 'pods' in value;
  return isOfNode
    ? nodeExplanationText(value as Parameters<typeof nodeExplanationText>[0], atMs)
    : podExplanationText(value as Parameters<typeof podExplanationText>[0]);
}
