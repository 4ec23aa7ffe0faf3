import { oncePer, type Pod, podQosClass, podRequests } from '@node-agent/pod-spec';

/** Returns the memory that a pod requests, in bytes. Computed once per pod. */
export const memoryRequest: (pod: Pod) => bigint = oncePer((pod) => podRequests(pod).get('memory')?.value() ?? 0n);

const qosClass = oncePer((pod: Pod) => podQosClass(pod));

/**
 * Returns the memory requests of all pods of a QoS class, in bytes. The request and class of a pod are computed once per
 * pod, because each start of a pod needs the sums over all pods.
 * @param active the pods that hold resources of the node
 */
export function memoryRequestsByClass(active: readonly Pod[]): {
  readonly guaranteed: bigint;
  readonly burstable: bigint;
} {
  let [guaranteed, burstable] = [0n, 0n];
  for (const pod of active) {
    const inClass = qosClass(pod);
    if (inClass === 'Guaranteed') guaranteed += memoryRequest(pod);
    else if (inClass === 'Burstable') burstable += memoryRequest(pod);
  }
  return { guaranteed, burstable };
}
