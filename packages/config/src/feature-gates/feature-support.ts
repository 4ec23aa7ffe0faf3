import type { FeatureName } from './known-features.ts';

/**
 * Gates that change upstream's kubelet but have no effect here yet. Setting such a gate to a value other than its
 * default causes a warning. When a gate is implemented, it must be removed from this list. Gates of other components
 * are not listed.
 */
export const gatesWithoutEffect: ReadonlySet<FeatureName> = new Set<FeatureName>([
  'CRIListStreaming',
  'ChangeContainerStatusOnKubeletRestart',
  'ClusterTrustBundleProjection',
  'EnvFiles',
  'EventedPLEG',
  'ImageVolumeWithDigest',
  'KubeletInUserNamespace',
  'KubeletRegistrationGetOnExistsOnly',
  'KubeletSeparateDiskGC',
  'KubeletServiceAccountTokenForCredentialProviders',
  'LocalStorageCapacityIsolationFSQuotaMonitoring',
  'PLEGOnDemandRelist',
  'PodCertificateRequest',
  'PodReadyToStartContainersCondition',
  'PodsAPI',
  'PreventStaticPodAPIReferences',
  'ReduceDefaultCrashLoopBackOffDecay',
  'RuntimeClassInImageCriApi',
  'UserNamespacesHostNetworkSupport',
  'WindowsCPUAndMemoryAffinity',
  'WindowsGracefulNodeShutdown',
]);
