export { ContainerConfigError, type ContainerConfigErrorCode } from './config/config-error.ts';
export { generateContainerConfig } from './config/container-config.ts';
export { containerResources } from './config/container-resources.ts';
export type {
  ContainerContext,
  ContainerType,
  ImageUser,
  NodeSettings,
  PodContext,
  SandboxContext,
} from './config/context.ts';
export { type EnvironmentContext, type EnvironmentVariable, makeEnvironment } from './config/environment.ts';
export {
  containerAnnotations,
  containerLabels,
  criAnnotations,
  criLabels,
  type ParsedAnnotations,
  type ParsedLabels,
  parseContainerAnnotations,
  parseContainerLabels,
  sandboxAnnotations,
  sandboxLabels,
} from './config/labels.ts';
export { containerLogPath, DEFAULT_CONTAINER_LOGS_DIRECTORY, legacyLogLink, podLogsPath } from './config/log-paths.ts';
export { podNetworkNamespace } from './config/namespaces.ts';
export { imageUser } from './config/non-root.ts';
export { type EnvironmentObjects, type ObjectSource, readEnvironmentObjects } from './config/object-source.ts';
export type { MemoryQosSettings, ResourceSettings } from './config/resource-settings.ts';
export { generateSandboxConfig } from './config/sandbox-config.ts';
export { stopSignalName } from './config/stop-signal.ts';
