export { asksForMore, type ResizeFeatures, resourcesOf, withResources } from './allocated-pod.ts';
export { type AllocationComponents, AllocationManager, type AllocationOptions } from './allocation-manager.ts';
export { dataChecksum, decodePods, encodePods } from './checkpoint-format.ts';
export { AllocationError, type AllocationErrorCode } from './errors.ts';
export {
  ACTUATED_PODS_STATE,
  ALLOCATED_PODS_STATE,
  PodResourceState,
  type PodResourceStateComponents,
} from './pod-resource-state.ts';
export type { PodResources } from './pod-resources.ts';
export { isResizeInProgress } from './resize-in-progress.ts';
export { type ResizeOperation, resizeOperations } from './resize-operations.ts';
export { compareResizes, type WaitingResize } from './resize-order.ts';
export { type ResizeNode, type ResizeRefusal, resizeRefusal } from './resize-refusal.ts';
export type { AdmitResize, AllocationPods, ResizeVerdict, RetryTrigger } from './waiting-resizes.ts';
