import { type Pod, type PodStatus, podQosClass } from '@node-agent/pod-spec';
import type { Refusal } from './admit-handler.ts';

/**
 * Returns the status of a rejected pod (`rejectPod` in `pkg/kubelet/kubelet.go`). Nothing of the previous status is
 * kept: containers that ran before a reboot of the machine no longer run and are not ready.
 */
export function rejectedStatus(pod: Pod, { reason, message }: Pick<Refusal, 'reason' | 'message'>): PodStatus {
  const { generation } = pod.metadata;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    qosClass: podQosClass(pod),
    phase: 'Failed',
    reason,
    message: `Pod was rejected: ${message}`,
  };
}
