import type { IDMapping, Init, PodSandboxConfig } from '@node-agent/cri-client';
import type { AnyContainer, Container, Device, LifecycleHandler, Mount, Pod } from '@node-agent/pod-spec';
import type { EnvironmentVariable } from './config/environment.ts';
import { PodRuntimeError } from './errors.ts';

/** Pulls images. Implemented by package `images`. */
export interface ImagePuller {
  /**
   * Makes sure that an image is present, according to its pull policy. The image is that of a container or, without a
   * name, of a volume of the pod.
   * @returns the reference by which the runtime knows the image
   * @throws an error whose `code` is the waiting reason (`ErrImagePull`, `ImagePullBackOff`, ...)
   */
  ensureImageExists(
    pod: Pod,
    container: Pick<Container, 'image' | 'imagePullPolicy'> & Partial<Pick<Container, 'name'>>,
    podSandboxConfig: Init<PodSandboxConfig>,
    runtimeHandler: string,
    signal: AbortSignal,
  ): Promise<{ readonly imageRef: string }>;
}

/** Host names and DNS settings of pods. Implemented by package `network`. */
export interface PodNetworkPort {
  podDns(pod: Pod): Promise<{
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  }>;
  hostname(pod: Pod): { readonly hostname: string; readonly domain: string };
}

/** Inputs of a container's mounts, besides its spec. */
export interface MountContext {
  readonly podIps: readonly string[];
  /** Environment of the container, used by `subPathExpr`. */
  readonly environment: readonly EnvironmentVariable[];
}

/** Mounts of containers. Implemented by package `volumes`, with the hosts file of package `network`. */
export interface PodMounts {
  /**
   * Returns the mounts of a container, and mounts the subpaths of its volumes. Called before each attempt to create the
   * container.
   */
  containerMounts(
    pod: Pod,
    container: Container,
    context: MountContext,
    signal: AbortSignal,
  ): Promise<readonly Mount[]>;
  /**
   * Returns the supplemental groups that the pod's volumes require. Called when the volumes are ready. If this method
   * is absent, volumes require no groups.
   */
  extraSupplementalGroups?(pod: Pod): readonly number[];
  /**
   * Returns the path of a mounted volume, for variables from files (`fileKeyRef`). If this method is absent, variables
   * from files are rejected.
   */
  volumePath?(pod: Pod, volumeName: string): string | undefined;
}

/** Resources of the machine that a container gets, besides its volumes. */
export interface GrantedOptions {
  /** Environment variables, placed before the container's own variables, which take precedence. */
  readonly envs: readonly EnvironmentVariable[];
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  /** Annotations for the runtime. The kubelet's own annotations take precedence. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Qualified names of CDI devices. */
  readonly cdiDevices: readonly string[];
}

/** Supplies the devices that were allocated to containers at admission. Implemented by package `device-manager`. */
export interface ContainerGrants {
  /**
   * Returns the machine's resources for a container. Called before each attempt to create the container.
   * @throws if the devices are not available; the container waits with CreateContainerConfigError, and the call is
   * retried
   */
  options(pod: Pod, container: Container, signal: AbortSignal): Promise<GrantedOptions>;
}

/** Prepares the ResourceClaims of pods. Implemented by package `dra`. */
export interface PodClaims {
  /**
   * Prepares the ResourceClaims of a pod. Called before each creation of the pod's sandbox. Returns synchronously if
   * the pod has no claims.
   * @throws if a claim cannot be prepared; the call is repeated
   */
  prepare(pod: Pod, signal: AbortSignal): Promise<void> | undefined;
}

/** CPUs and memory nodes of a container, in the kernel's notation, such as `0-3,8`; empty for no restriction. */
export interface ContainerPlacement {
  readonly cpus: string;
  readonly mems: string;
  /** Whether the CPUs are exclusive, so that no CFS quota is needed. */
  readonly hasExclusiveCpus: boolean;
}

/** Places containers on CPUs and NUMA nodes. Implemented by package `cm-resources`. */
export interface ContainerPlacements {
  /**
   * Returns the CPUs and memory nodes of a container. Called right before each creation of the container, and when its
   * CPU limit is changed.
   */
  placementOf(pod: Pod, container: AnyContainer): ContainerPlacement;
  /** Returns whether any container of the pod has exclusive CPUs. */
  hasExclusiveCpus(pod: Pod): boolean;
  /**
   * Notes that a container was created and is about to be started.
   * @param cpus CPUs of the container's placement
   */
  starting(pod: Pod, container: AnyContainer, containerId: string, cpus: string): void;
}

/** IDs of pods with a user namespace. Implemented by package `userns`. */
export interface PodUserNamespaces {
  /**
   * Returns the ID mappings of a pod's user namespace.
   * @throws if the pod cannot get a user namespace; the message has the reason
   */
  mappings(
    pod: Pod,
    signal: AbortSignal,
  ): Promise<{ readonly uids: readonly Init<IDMapping>[]; readonly gids: readonly Init<IDMapping>[] }>;
}

/** Runs a container's lifecycle hooks. */
export interface LifecycleHooks {
  /**
   * Runs the `postStart` hook of a container.
   * @throws if the hook failed; the container is then killed
   */
  postStart(
    pod: Pod,
    container: Container,
    containerId: string,
    handler: LifecycleHandler,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Runs the `preStop` hook of a container, before the container is signalled.
   * @param gracePeriodMs maximum wait for the hook
   * @throws if the hook failed; the container is stopped nevertheless
   */
  preStop(
    pod: Pod,
    container: Container,
    containerId: string,
    handler: LifecycleHandler,
    gracePeriodMs: number,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Hooks of a kubelet without hook support: a container with a hook gets an event and is stopped. */
export const noHooks: LifecycleHooks = {
  postStart: async (_pod, { name }) => refuse('postStart', name),
  preStop: async (_pod, { name }) => refuse('preStop', name),
};

function refuse(hook: string, container: string): never {
  throw new PodRuntimeError(
    'Unsupported',
    `container ${container}: lifecycle.${hook} is not supported by this kubelet`,
  );
}
