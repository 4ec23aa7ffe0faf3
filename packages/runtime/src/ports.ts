import type { IDMapping, Init, PodSandboxConfig } from '@node-agent/cri-client';
import type { Container, Device, LifecycleHandler, Mount, Pod } from '@node-agent/pod-spec';
import type { EnvironmentVariable } from './config/environment.ts';
import { PodRuntimeError } from './errors.ts';

/** Brings images to the machine: package `images`. */
export interface ImagePuller {
  /**
   * Sees to it that an image is there, by its pull policy: a container's or, without a name, that of a volume of the pod.
   * @returns what the runtime knows the image by
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

/** Names and name servers of pods: package `network`. */
export interface PodNetworkPort {
  podDns(pod: Pod): Promise<{
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  }>;
  hostname(pod: Pod): { readonly hostname: string; readonly domain: string };
}

/** What a container's mounts depend on, beside its spec. */
export interface MountContext {
  readonly podIps: readonly string[];
  /** The container's variables, of which `subPathExpr` is made. */
  readonly environment: readonly EnvironmentVariable[];
}

/** What of the host shows in a container: package `volumes`, and the hosts file of package `network`. */
export interface PodMounts {
  /** Called before each attempt to create the container: what it mounts beneath volumes is mounted then. */
  containerMounts(
    pod: Pod,
    container: Container,
    context: MountContext,
    signal: AbortSignal,
  ): Promise<readonly Mount[]>;
  /** Groups that the pod's volumes ask for beside its own; none where absent. Asked when they are ready. */
  extraSupplementalGroups?(pod: Pod): readonly number[];
  /** Where a volume is that is ready, for variables from files (`fileKeyRef`): without this they are refused. */
  volumePath?(pod: Pod, volumeName: string): string | undefined;
}

/** What a container is given of the machine, beside its volumes. */
export interface GrantedOptions {
  /** In front of the container's own variables, which win. */
  readonly envs: readonly EnvironmentVariable[];
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  /** For the runtime; the kubelet's own win. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Qualified names of CDI devices. */
  readonly cdiDevices: readonly string[];
}

/** Who gives containers of the machine what they were granted at admission: package `device-manager`. */
export interface ContainerGrants {
  /**
   * Called before each attempt to create the container.
   * @throws where it cannot have it: the reason is CreateContainerConfigError, and it is tried again
   */
  options(pod: Pod, container: Container, signal: AbortSignal): Promise<GrantedOptions>;
}

/** The IDs that a pod with a user namespace has: package `userns`. */
export interface PodUserNamespaces {
  /** @throws where the pod can have none; the message says why */
  mappings(
    pod: Pod,
    signal: AbortSignal,
  ): Promise<{ readonly uids: readonly Init<IDMapping>[]; readonly gids: readonly Init<IDMapping>[] }>;
}

/** Runs a container's lifecycle hooks. */
export interface LifecycleHooks {
  /** @throws where the hook failed: the container is killed then */
  postStart(
    pod: Pod,
    container: Container,
    containerId: string,
    handler: LifecycleHandler,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Runs before a container is told to stop.
   * @param gracePeriodMs how long it is waited for
   * @throws where the hook failed: the container is stopped all the same
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

/** For a kubelet without hooks: a container that asks for one is told so, by an event, and does not stay up. */
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
