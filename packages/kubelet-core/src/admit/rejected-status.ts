import { type Pod, type PodStatus, podQosClass } from '@node-agent/pod-spec';
import type { Refusal } from './admit-handler.ts';

/**
 * The status of a pod that may not run here (`rejectPod` in `pkg/kubelet/kubelet.go`). Of what it showed before nothing stays: its containers,
 * where it had any before a restart of the machine, do not run, and are not ready.
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
