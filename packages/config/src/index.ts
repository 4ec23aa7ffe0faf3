export { DEFAULT_EVICTION_HARD } from './defaults.ts';
export type { ConfigReader } from './drop-ins.ts';
export { formatDuration, nanosecondsToMs, parseDuration } from './duration.ts';
export {
  ConfigError,
  type ConfigErrorCode,
  type ConfigIssue,
  formatIssue,
  formatOrigin,
  type Origin,
} from './error.ts';
export {
  type FeatureGateMessage,
  type FeatureGates,
  isFeatureName,
  type ResolvedFeatureGates,
  resolveFeatureGates,
} from './feature-gates/feature-gates.ts';
export { type FeatureName, type FeatureStage, knownFeatures } from './feature-gates/known-features.ts';
export {
  type CommandLine,
  type CommandLineReading,
  type FlagSetting,
  type MirrorFlag,
  parseCommandLine,
  readCommandLine,
} from './flags/command-line.ts';
export { type CompletionShell, completionScript, completionShells } from './flags/completion.ts';
export { helpText } from './flags/help.ts';
export type {
  CgroupDriver,
  ChangeDetectionStrategy,
  CpuManagerPolicy,
  CrashLoopBackOffConfiguration,
  CrashLoopBackOffConfigurationV1beta1,
  HairpinMode,
  ImagePullCredentialsVerificationPolicy,
  JsonLogOptions,
  JsonLogOptionsV1beta1,
  KubeletAnonymousAuthentication,
  KubeletAnonymousAuthenticationV1beta1,
  KubeletAuthentication,
  KubeletAuthenticationV1beta1,
  KubeletAuthorization,
  KubeletAuthorizationMode,
  KubeletAuthorizationV1beta1,
  KubeletConfiguration,
  KubeletConfigurationV1beta1,
  KubeletFlags,
  KubeletWebhookAuthentication,
  KubeletWebhookAuthenticationV1beta1,
  KubeletWebhookAuthorization,
  KubeletWebhookAuthorizationV1beta1,
  KubeletX509Authentication,
  KubeletX509AuthenticationV1beta1,
  LogFormat,
  LogFormatOptions,
  LogFormatOptionsV1beta1,
  LoggingConfiguration,
  LoggingConfigurationV1beta1,
  MemoryManagerPolicy,
  MemoryReservation,
  MemoryReservationPolicy,
  MemoryReservationV1beta1,
  MemorySwapConfiguration,
  MemorySwapConfigurationV1beta1,
  ShutdownGracePeriodByPodPriority,
  ShutdownGracePeriodByPodPriorityV1beta1,
  SwapBehavior,
  TaintConfiguration,
  TaintConfigurationV1beta1,
  TaintEffect,
  TextLogOptions,
  TextLogOptionsV1beta1,
  TlsVersion,
  TopologyManagerPolicy,
  TopologyManagerScope,
  TracingConfiguration,
  TracingConfigurationV1beta1,
  UserNamespacesConfiguration,
  UserNamespacesConfigurationV1beta1,
  VModuleItem,
  VModuleItemV1beta1,
} from './generated/kubelet-configuration.ts';
export { type LoadedConfiguration, type LoadOptions, loadKubeletConfig } from './load.ts';
export { defaultConfiguration, maskSecrets, renderConfiguration } from './normalize.ts';
export type { Origins } from './origins.ts';
export { planReload, type ReloadPlan } from './reload/plan-reload.ts';
export type { Check, Field, FieldFlag, FieldType, Json, Support } from './schema/field.ts';
