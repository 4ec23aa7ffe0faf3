export type { SyncFailure } from '@node-agent/contracts';
export { computePodActions } from './actions/actions.ts';
export type {
  ContainerToKill,
  ContainerToReset,
  KillReason,
  PodActions,
  PodActionsContext,
  RestartProbeResults,
} from './actions/pod-actions.ts';
export type { ContainerUpdate, ResizeContext, ResizedResource } from './actions/resize-actions.ts';
export { podSandboxChanged, type SandboxVerdict } from './actions/sandbox-changed.ts';
export type { BackOffLimits } from './backoff/backoff-delay.ts';
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
export { PodRuntimeError, type PodRuntimeErrorCode } from './errors.ts';
export {
  PodRuntime,
  type PodRuntimeComponents,
  type PodRuntimeOptions,
  type RuntimeCalls,
} from './pod-runtime.ts';
export {
  type ContainerGrants,
  type ContainerPlacement,
  type ContainerPlacements,
  type GrantedOptions,
  type ImagePuller,
  type LifecycleHooks,
  type MountContext,
  noHooks,
  type PodClaims,
  type PodMounts,
  type PodNetworkPort,
  type PodUserNamespaces,
} from './ports.ts';
export type { PodCgroups } from './reconcile/container-context.ts';
export type { EnvironmentFiles } from './reconcile/env-files.ts';
export type { RuntimePodSyncResult, RuntimeSyncResult, SyncAction } from './reconcile/sync-result.ts';
export type { AppliedResources } from './resize/applied-resources.ts';
export type { ResizableGroups, ResizeFeatures } from './resize/pod-resizer.ts';
export type { GroupResources } from './resize/resize-steps.ts';
export { type ContainerNews, type CriPods, criPods, type PodCalls } from './status/cri-pods.ts';
export {
  type RuntimeCondition,
  type RuntimeHandlerInfo,
  type RuntimeStatus,
  readRuntimeStatus,
} from './status/runtime-status.ts';
