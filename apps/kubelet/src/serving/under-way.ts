import { explainNode } from '@node-agent/kubelet-core';
import type { TaskStack } from '@node-agent/server';

/**
 * Yields the tasks in progress: the waits of each pod, and the resources that the event loop of Node.js waits for
 * (sockets, timers, child processes).
 */
export function* underWay(kubelet: Parameters<typeof explainNode>[0]): Generator<TaskStack, void, undefined> {
  for (const { waitingFor, pod } of explainNode(kubelet).waiting) {
    for (const { what } of waitingFor) yield [what, `${pod.namespace}/${pod.name}`, 'pod worker'];
  }
  for (const resource of process.getActiveResourcesInfo()) yield [resource, 'event loop'];
}
