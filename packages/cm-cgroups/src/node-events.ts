/** Reasons of the events about the node's allocatable limits (`pkg/kubelet/events/event.go`). */
export const ENFORCED = 'NodeAllocatableEnforced';
export const NOT_ENFORCED = 'FailedNodeAllocatableEnforcement';
