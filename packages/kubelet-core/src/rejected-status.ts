import { type Pod, type PodStatus, podQosClass } from '@node-agent/pod-spec';
import type { Refusal } from './admit-handler.ts';

/** The status of a pod that may not run here (`rejectPod` in `pkg/kubelet/kubelet.go`). */
export function rejectedStatus(pod: Pod, { reason, message }: Pick<Refusal, 'reason' | 'message'>): PodStatus {
  const { generation } = pod.metadata;
  return {
    ...pod.status,
    ...(generation !== undefined && { observedGeneration: generation }),
    qosClass: podQosClass(pod),
    phase: 'Failed',
    reason,
    message: `Pod was rejected: ${message}`,
  };
}
