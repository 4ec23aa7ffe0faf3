import type {
  V1Affinity,
  V1Container,
  V1ContainerPort,
  V1ContainerRestartRule,
  V1ContainerState,
  V1ContainerStatus,
  V1EnvFromSource,
  V1EnvVar,
  V1EphemeralContainer,
  V1HostPathVolumeSource,
  V1Lifecycle,
  V1LifecycleHandler,
  V1ObjectMeta,
  V1PodCondition,
  V1PodDNSConfig,
  V1PodSecurityContext,
  V1PodSpec,
  V1PodStatus,
  V1Probe,
  V1ResourceRequirements,
  V1SecurityContext,
  V1Toleration,
  V1Volume,
  V1VolumeMount,
} from '@kubernetes/client-node';

/**
 * An API type as its JSON is on the wire: the client library's classes hold `Date`s where the wire has RFC 3339
 * strings, and its optional fields may not be set to `undefined`. Objects are never changed in place here.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Wire<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Wire<T[K]> }
      : T;

export interface ObjectMeta extends Wire<V1ObjectMeta> {}
export interface PodSpec extends Wire<V1PodSpec> {}
export interface PodStatus extends Wire<V1PodStatus> {}
export interface PodCondition extends Wire<V1PodCondition> {}
export interface PodSecurityContext extends Wire<V1PodSecurityContext> {}
export interface PodDnsConfig extends Wire<V1PodDNSConfig> {}
export interface Container extends Wire<V1Container> {}
export interface EphemeralContainer extends Wire<V1EphemeralContainer> {}
export interface ContainerPort extends Wire<V1ContainerPort> {}
export interface ContainerRestartRule extends Wire<V1ContainerRestartRule> {}
export interface ContainerState extends Wire<V1ContainerState> {}
export interface ContainerStatus extends Wire<V1ContainerStatus> {}
export interface EnvVar extends Wire<V1EnvVar> {}
export interface EnvFromSource extends Wire<V1EnvFromSource> {}
export interface HostPathVolumeSource extends Wire<V1HostPathVolumeSource> {}
export interface Lifecycle extends Wire<V1Lifecycle> {}
export interface LifecycleHandler extends Wire<V1LifecycleHandler> {}
export interface Probe extends Wire<V1Probe> {}
export interface ResourceRequirements extends Wire<V1ResourceRequirements> {}
export interface SecurityContext extends Wire<V1SecurityContext> {}
export interface Toleration extends Wire<V1Toleration> {}
export interface Affinity extends Wire<V1Affinity> {}
export interface Volume extends Wire<V1Volume> {}
export interface VolumeMount extends Wire<V1VolumeMount> {}

/** The phases of a pod (`status.phase`). */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

/** A v1 Pod as the kubelet holds it: after defaulting, so that name, namespace, UID and spec are always there. */
export interface Pod {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}
