export { computePodActions } from './actions.ts';
export type { AppliedResources } from './applied-resources.ts';
export type { BackOffLimits } from './backoff-delay.ts';
export { generateContainerConfig } from './config/container-config.ts';
export type {
  ContainerContext,
  ImageUser,
  NodeSettings,
  PodContext,
  SandboxContext,
} from './config/context.ts';
export { type EnvironmentContext, type EnvironmentVariable, makeEnvironment } from './config/environment.ts';
export type { PodAddresses } from './config/field-path.ts';
export {
  criAnnotations,
  criLabels,
  type ParsedAnnotations,
  type ParsedLabels,
  parseContainerAnnotations,
  parseContainerLabels,
} from './config/labels.ts';
export { imageUser } from './config/non-root.ts';
export {
  type EnvironmentObjects,
  type ObjectReference,
  type ObjectSource,
  readEnvironmentObjects,
} from './config/object-source.ts';
export type { MemoryQosSettings, ResourceSettings } from './config/resource-settings.ts';
export { generateSandboxConfig } from './config/sandbox-config.ts';
export type { ServiceData } from './config/service-variables.ts';
export type { PodCgroups } from './container-context.ts';
export { type ContainerNews, type CriPods, criPods, type PodCalls } from './cri-pods.ts';
export type { EnvironmentFiles } from './env-files.ts';
export { PodRuntimeError, type PodRuntimeErrorCode } from './errors.ts';
export type {
  ContainerToKill,
  ContainerToReset,
  KillReason,
  PodActions,
  PodActionsContext,
  ProbeResult,
  ProbeResults,
} from './pod-actions.ts';
export type { ResizableGroups, ResizeFeatures } from './pod-resizer.ts';
export {
  PodRuntime,
  type PodRuntimeComponents,
  type PodRuntimeOptions,
  type RuntimeCalls,
} from './pod-runtime.ts';
export {
  type ContainerGrants,
  type GrantedOptions,
  type ImagePuller,
  type LifecycleHooks,
  type MountContext,
  noHooks,
  type PodMounts,
  type PodNetworkPort,
  type PodUserNamespaces,
} from './ports.ts';
export type { ContainerUpdate, ResizeContext, ResizedResource } from './resize-actions.ts';
export type { GroupResources } from './resize-steps.ts';
export {
  type RuntimeCondition,
  type RuntimeHandlerInfo,
  type RuntimeStatus,
  readRuntimeStatus,
} from './runtime-status.ts';
export { podSandboxChanged, type SandboxVerdict } from './sandbox-changed.ts';
export type { PodSyncResult, SyncAction, SyncFailure, SyncResult } from './sync-result.ts';
