import type { ImageSpec, Init, UserNamespace } from '@node-agent/cri-client';
import type { Device, Mount } from '@node-agent/pod-spec';
import type { ContainerPlacement } from '../ports.ts';
import type { EnvironmentVariable } from './environment.ts';
import type { ResourceSettings } from './resource-settings.ts';

/** Settings that apply to every pod of the node: kubelet options and machine properties. */
export interface NodeSettings {
  /** Directory of the pods' log directories. Upstream default: `/var/log/pods`. */
  readonly podLogsDirectory: string;
  /** Directory of `Localhost` seccomp profiles: `<root>/seccomp`. */
  readonly seccompProfileRoot: string;
  /** Whether a container without a seccomp profile gets the runtime's default profile (`seccompDefault`). */
  readonly seccompDefault: boolean;
  /** Additional paths to mask: the machine's `thermal_throttle` directories. */
  readonly extraMaskedPaths: readonly string[];
  /**
   * Feature gate `ContainerStopSignals` (KEP-4960), upstream default: off. If off, `lifecycle.stopSignal` is ignored.
   */
  readonly containerStopSignals: boolean;
  /** Address family of a pod's primary address, which is that of `--node-ip`. Default: 4. */
  readonly podIpFamily?: 4 | 6;
  readonly resources: ResourceSettings;
}

/** Inputs of both sandbox and container configurations, besides the pod. */
export interface PodContext {
  readonly node: NodeSettings;
  /** Supplemental groups that the pod's volumes require. */
  readonly extraSupplementalGroups?: readonly number[];
  /** User namespace of a pod with `hostUsers: false`; absent if this kubelet assigns none. */
  readonly userNamespace?: Init<UserNamespace>;
}

/** Inputs of a sandbox configuration, besides the pod. */
export interface SandboxContext extends PodContext {
  readonly dns: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
  readonly hostname: string;
  /** DNS domain in the pod's fully qualified host name; '' if the pod has none. */
  readonly domain: string;
  /** The pod's cgroup in the form of the cgroup driver; '' lets the runtime choose. */
  readonly cgroupParent: string;
  /** Whether a container of the pod has exclusive CPUs. The sandbox then has no CFS quota. */
  readonly hasExclusiveCpus?: boolean;
}

/** User that an image runs as: a number, or a name that only the image can resolve. */
export type ImageUser = { readonly uid: number } | { readonly username: string };

/** Inputs of a container configuration, besides its spec. */
export interface ContainerContext extends PodContext {
  /** Hash of the container's spec, in lower-case hex. */
  readonly hash: string;
  /** ID or digest by which the runtime knows the image, from the image puller. */
  readonly imageRef: string;
  /** The pod's runtime handler, if images are kept per handler; '' otherwise. */
  readonly imageRuntimeHandler?: string;
  readonly imageUser: ImageUser;
  readonly environment: readonly EnvironmentVariable[];
  /** Mounts of the volumes and of the hosts file. */
  readonly mounts: readonly Mount[];
  /** Images of image volumes, by volume name. Default: none. */
  readonly imageVolumes?: ReadonlyMap<string, Init<ImageSpec>>;
  readonly devices?: readonly Device[];
  /** Qualified names of CDI devices. */
  readonly cdiDevices?: readonly string[];
  /** Annotations of device plugins. The kubelet's own annotations take precedence. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** File on the host that receives the termination message; absent if it could not be created. */
  readonly terminationMessageFile?: string;
  /** Whether the node runs SELinux. The termination message file is then relabelled. */
  readonly selinuxEnabled?: boolean;
  /** For an ephemeral container with `targetContainerName`: ID of the container whose processes it sees. */
  readonly targetContainerId?: string;
  /** CPUs and memory nodes. A container with exclusive CPUs has no CFS quota. Default: no restriction. */
  readonly placement?: ContainerPlacement;
}
