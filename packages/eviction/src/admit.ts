import { isCriticalPod, type Pod, podQosClass, type Toleration } from '@node-agent/pod-spec';
import { EVICTED, pressureMessage } from './messages.ts';
import type { PressureCondition } from './signals.ts';

/** Result of {@link admitUnderPressure}; compatible with the result of an `AdmitHandler` of kubelet-core. */
export type PressureVerdict =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

/**
 * Decides whether a pod is admitted to a node under pressure (`Admit` of `pkg/kubelet/eviction/eviction_manager.go`).
 * Critical pods are always admitted. If memory is the only resource under pressure, pods that are not BestEffort or
 * that tolerate the memory-pressure taint are admitted too.
 */
export function admitUnderPressure(pod: Pod, conditions: readonly PressureCondition[]): PressureVerdict {
  if (conditions.length === 0 || isCriticalPod(pod)) return { admit: true };
  const onlyMemory = conditions.every((condition) => condition === 'MemoryPressure');
  const isTolerated = podQosClass(pod) !== 'BestEffort' || (pod.spec.tolerations ?? []).some(toleratesMemoryPressure);
  if (onlyMemory && isTolerated) return { admit: true };
  return { admit: false, reason: EVICTED, message: pressureMessage(conditions) };
}

/**
 * Returns whether the toleration tolerates the taint `node.kubernetes.io/memory-pressure:NoSchedule`. The taint has no
 * value, and an empty value is not a number, so the operators `Lt` and `Gt` never match.
 */
function toleratesMemoryPressure({ key = '', operator = '', value = '', effect = '' }: Toleration): boolean {
  if (effect !== '' && effect !== 'NoSchedule') return false;
  if (key !== '' && key !== 'node.kubernetes.io/memory-pressure') return false;
  return operator === 'Exists' || ((operator === 'Equal' || operator === '') && value === '');
}
