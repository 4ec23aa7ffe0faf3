import type { FeatureName } from './known-features.ts';

/**
 * The gates that switch something in upstream's kubelet, and nothing here yet: setting one to other than its default
 * is warned of by name. Take a gate out of this list when its switch works. Gates of other components are in neither.
 */
export const gatesWithoutEffect: ReadonlySet<FeatureName> = new Set<FeatureName>([
  'CPUManagerPolicyAlphaOptions',
  'CPUManagerPolicyBetaOptions',
  'CRIListStreaming',
  'CSIVolumeHealth',
  'ChangeContainerStatusOnKubeletRestart',
  'ClusterTrustBundleProjection',
  'DRAExtendedResource',
  'DRAWorkloadResourceClaims',
  'DisableCPUQuotaWithExclusiveCPUs',
  'EnvFiles',
  'EventedPLEG',
  'ImageVolumeWithDigest',
  'InPlacePodVerticalScalingExclusiveCPUs',
  'InPlacePodVerticalScalingExclusiveMemory',
  'KubeletInUserNamespace',
  'KubeletRegistrationGetOnExistsOnly',
  'KubeletSeparateDiskGC',
  'KubeletServiceAccountTokenForCredentialProviders',
  'LocalStorageCapacityIsolationFSQuotaMonitoring',
  'PLEGOnDemandRelist',
  'PodCertificateRequest',
  'PodLevelResourceManagers',
  'PodReadyToStartContainersCondition',
  'PodsAPI',
  'PreventStaticPodAPIReferences',
  'ReduceDefaultCrashLoopBackOffDecay',
  'ResourceHealthStatusMessage',
  'RuntimeClassInImageCriApi',
  'SELinuxMount',
  'TopologyManagerPolicyAlphaOptions',
  'TopologyManagerPolicyBetaOptions',
  'UserNamespacesHostNetworkSupport',
  'WindowsCPUAndMemoryAffinity',
  'WindowsGracefulNodeShutdown',
]);
