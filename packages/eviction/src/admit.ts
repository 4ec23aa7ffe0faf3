import { isCriticalPod, type Pod, podQosClass, type Toleration } from '@node-agent/pod-spec';
import { EVICTED, pressureMessage } from './messages.ts';
import type { PressureCondition } from './signals.ts';

/** The handler's own shape: it is an `AdmitHandler` of kubelet-core. */
export type PressureVerdict =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

/**
 * Whether a pod may begin on a node under pressure (`Admit` of `pkg/kubelet/eviction/eviction_manager.go`): critical pods may; others
 * where memory alone is short, if they ask for resources or tolerate the taint of that.
 */
export function admitUnderPressure(pod: Pod, conditions: readonly PressureCondition[]): PressureVerdict {
  if (conditions.length === 0 || isCriticalPod(pod)) return { admit: true };
  const onlyMemory = conditions.every((condition) => condition === 'MemoryPressure');
  const bears = podQosClass(pod) !== 'BestEffort' || (pod.spec.tolerations ?? []).some(toleratesMemoryPressure);
  if (onlyMemory && bears) return { admit: true };
  return { admit: false, reason: EVICTED, message: pressureMessage(conditions) };
}

/** The taint `node.kubernetes.io/memory-pressure:NoSchedule`, which has no value: one that is no number is neither `Lt` nor `Gt` another. */
function toleratesMemoryPressure({ key = '', operator = '', value = '', effect = '' }: Toleration): boolean {
  if (effect !== '' && effect !== 'NoSchedule') return false;
  if (key !== '' && key !== 'node.kubernetes.io/memory-pressure') return false;
  return operator === 'Exists' || ((operator === 'Equal' || operator === '') && value === '');
}
