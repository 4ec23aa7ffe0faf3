export { DEFAULT_EVICTION_HARD } from './defaults.ts';
export type { ConfigReader } from './drop-ins.ts';
export { formatDuration, msToNanoseconds, nanosecondsToMs, parseDuration } from './duration.ts';
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
  FeatureGates,
  isFeatureName,
  type ResolvedFeatureGates,
  resolveFeatureGates,
} from './feature-gates/feature-gates.ts';
export type { FeatureName, FeatureStage } from './feature-gates/known-features.ts';
export { type CommandLine, type FlagSetting, type MirrorFlag, parseCommandLine } from './flags/command-line.ts';
export { helpText } from './flags/help.ts';
export type {
  CgroupDriver,
  ChangeDetectionStrategy,
  CpuManagerPolicy,
  CrashLoopBackOffConfiguration,
  HairpinMode,
  ImagePullCredentialsVerificationPolicy,
  JsonLogOptions,
  KubeletAnonymousAuthentication,
  KubeletAuthentication,
  KubeletAuthorization,
  KubeletAuthorizationMode,
  KubeletConfiguration,
  KubeletConfigurationV1beta1,
  KubeletFlags,
  KubeletWebhookAuthentication,
  KubeletWebhookAuthorization,
  KubeletX509Authentication,
  LogFormat,
  LogFormatOptions,
  LoggingConfiguration,
  MemoryManagerPolicy,
  MemoryReservation,
  MemoryReservationPolicy,
  MemorySwapConfiguration,
  ShutdownGracePeriodByPodPriority,
  SwapBehavior,
  TaintConfiguration,
  TaintEffect,
  TextLogOptions,
  TlsVersion,
  TopologyManagerPolicy,
  TopologyManagerScope,
  TracingConfiguration,
  UserNamespacesConfiguration,
  VModuleItem,
} from './generated/kubelet-configuration.ts';
export { type LoadedConfiguration, type LoadOptions, loadKubeletConfig } from './load.ts';
export { defaultConfiguration, maskSecrets, renderConfiguration } from './normalize.ts';
export type { Origins } from './origins.ts';
