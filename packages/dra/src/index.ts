export { DraManager, type DraManagerComponents, type DraManagerOptions, type DraPods } from './dra-manager.ts';
export type { DynamicResource } from './dynamic-resources.ts';
export { DraError, type DraErrorCode } from './errors.ts';
export type { ClaimWait, NotedWait } from './noted-wait.ts';
export type { ClaimSource } from './preparer.ts';
export type { AllocatedDevice, ClaimConsumer, ResourceClaim } from './resource-claim.ts';
export type { SliceRemoval } from './slice-remover.ts';
