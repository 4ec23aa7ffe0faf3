export type {
  Affinity,
  Container,
  ContainerPort,
  ContainerRestartRule,
  ContainerState,
  ContainerStatus,
  EnvFromSource,
  EnvVar,
  EphemeralContainer,
  HostPathVolumeSource,
  Lifecycle,
  LifecycleHandler,
  ObjectMeta,
  Pod,
  PodCondition,
  PodDNSConfig as PodDnsConfig,
  PodPhase,
  PodSecurityContext,
  PodSpec,
  PodStatus,
  Probe,
  ResourceRequirements,
  SecurityContext,
  Toleration,
  Volume,
  VolumeMount,
} from './api.ts';
export { appArmorProfileOf, asksForAppArmor } from './app-armor.ts';
export { checkPod } from './check-pod.ts';
export { isBackedByClaim } from './claimed-resources.ts';
export { bareContainerId, type ContainerId, formatContainerId, parseContainerId } from './container-id.ts';
export {
  type AnyContainer,
  allContainers,
  type ContainerType,
  findContainer,
  isRestartableInit,
  type PodContainer,
} from './containers.ts';
export { type CpuMemory, cpuMemory, isResizable, limitsWithin, sameCpuMemory, sameResources } from './cpu-memory.ts';
export {
  MAX_CPU_SHARES,
  MIN_CPU_SHARES,
  milliCpuToQuotaUs,
  milliCpuToShares,
  sharesToMilliCpu,
} from './cpu-time.ts';
export { defaultPullPolicy } from './default-pull-policy.ts';
export { defaultPod, type PodLike } from './defaults.ts';
export { PodSpecError, type PodSpecErrorCode } from './errors.ts';
export { expand, expandAll, MAX_EXPANDED_LENGTH } from './expand.ts';
export { type FieldError, type FieldErrorType, formatFieldError } from './field-error.ts';
export { goJson } from './go-json.ts';
export {
  canonicalImageName,
  effectiveTag,
  familiarImageName,
  type ImageReference,
  imageRepository,
  parseImageReference,
} from './image-reference.ts';
export { showsInitialized } from './initialized.ts';
export { parseInt64 } from './integer.ts';
export { withKnownFields } from './known-fields.ts';
export { metadataFieldValue } from './metadata-field.ts';
export type { Device, Mount, MountPropagation } from './mount.ts';
export {
  configKeyProblem,
  dns1123LabelProblem,
  dns1123SubdomainProblem,
  envNameProblem,
  labelValueProblem,
  type NameRule,
  qualifiedNameProblem,
} from './names.ts';
export { matchesNodeSelectorTerms, type NodeSelectorRequirement, type NodeSelectorTerm } from './node-selector.ts';
export { containerReference, type PodReference, podReference } from './object-reference.ts';
export { oncePer } from './once-per.ts';
export { podAddresses } from './pod-addresses.ts';
export { formatPod, isCriticalPod, isTerminalPhase, normalizeSysctlName, resolveContainerPort } from './pod-facts.ts';
export { hasPodLevelResources, type PodResourcesOptions, podLimits, podRequests } from './pod-resources.ts';
export {
  annotatedSource,
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  isMirrorPod,
  isStaticPod,
  type PodSource,
  podFullName,
  podSource,
} from './pod-source.ts';
export { type PodState, podState } from './pod-state.ts';
export { podQosClass, type QosClass, qosClass } from './qos-class.ts';
export { parseQuantity, Quantity, type QuantityFormat } from './quantity.ts';
export { containerResourceValue, type ResourceSelector } from './resource-field.ts';
export {
  addResources,
  formatResourceList,
  hugePageSize,
  isExtendedResource,
  isHugePageResource,
  isNativeResource,
  maxResources,
  parseResourceList,
  type ResourceList,
  type ResourceListJson,
} from './resource-list.ts';
export {
  anyAsksToRestartAll,
  asksToRestartAll,
  canRestartAll,
  defaultRestartFeatures,
  type EndedContainer,
  initFailed,
  mayEndForGood,
  type RestartFeatures,
  restartsAfterKill,
  shouldRestartExited,
  shouldStart,
} from './restart-policy.ts';
export {
  mayRun,
  type RestartOwed,
  type RuntimeContainer,
  type RuntimeContainerResources,
  type RuntimeContainerState,
  type RuntimeContainerStatus,
  type RuntimePod,
  type RuntimePodStatus,
  type RuntimeSandbox,
  type RuntimeSandboxStatus,
} from './runtime-status.ts';
export { sameJson } from './same-json.ts';
export { withoutStrayAttempts } from './stray-attempts.ts';
export { withoutSupersededAttempts } from './superseded-attempts.ts';
export { sysctlNamespace } from './sysctls.ts';
export { validatePod } from './validate-pod.ts';
export { toWire, type Wire } from './wire.ts';
