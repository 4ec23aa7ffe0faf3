import type { ImageSpec, Init, UserNamespace } from '@node-agent/cri-client';
import type { Device, Mount } from '@node-agent/pod-spec';
import type { EnvironmentVariable } from './environment.ts';
import type { ResourceSettings } from './resource-settings.ts';

/** What holds for every pod of the node: options of the kubelet and facts of the machine. */
export interface NodeSettings {
  /** Where pods' log directories are; upstream's default is `/var/log/pods`. */
  readonly podLogsDirectory: string;
  /** Where `Localhost` seccomp profiles are looked up: `<root>/seccomp`. */
  readonly seccompProfileRoot: string;
  /** Whether a container without a seccomp profile gets the runtime's default one (`seccompDefault`). */
  readonly seccompDefault: boolean;
  /** Paths to mask beside the usual ones: the machine's `thermal_throttle` directories. */
  readonly extraMaskedPaths: readonly string[];
  /** Feature gate `ContainerStopSignals` (KEP-4960): off by default upstream, `lifecycle.stopSignal` is not used then. */
  readonly containerStopSignals: boolean;
  /** Which of a pod's own addresses comes first: of the family of `--node-ip`; 4 where absent. */
  readonly podIpFamily?: 4 | 6;
  readonly resources: ResourceSettings;
}

/** What both a pod's sandbox and its containers are made from, beside the pod. */
export interface PodContext {
  readonly node: NodeSettings;
  /** Groups that the pod's volumes ask for. */
  readonly extraSupplementalGroups?: readonly number[];
  /** The user namespace given to a pod with `hostUsers: false`; absent where this kubelet gives none. */
  readonly userNamespace?: Init<UserNamespace>;
}

/** What a sandbox is made from, beside the pod. */
export interface SandboxContext extends PodContext {
  readonly dns: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
  readonly hostname: string;
  /** '' for none. */
  readonly domain: string;
  /** The pod's cgroup, as the cgroup driver words it; '' leaves the choice to the runtime. */
  readonly cgroupParent: string;
  /** Whether a container of the pod has CPUs of its own: no CFS quota then. */
  readonly hasExclusiveCpus?: boolean;
}

/** The user that an image runs as: a number, or a name that only the image knows. */
export type ImageUser = { readonly uid: number } | { readonly username: string };

/** What a container is made from, beside its spec. */
export interface ContainerContext extends PodContext {
  /** Hash of the container's spec, in lower-case hex. */
  readonly hash: string;
  /** What the image puller found: the id or digest that the runtime knows the image by. */
  readonly imageRef: string;
  /** The pod's runtime handler, where images are kept per handler; '' otherwise. */
  readonly imageRuntimeHandler?: string;
  readonly imageUser: ImageUser;
  readonly environment: readonly EnvironmentVariable[];
  /** Volumes and the hosts file. */
  readonly mounts: readonly Mount[];
  /** The images that volumes are made from, by the volume's name; none where absent. */
  readonly imageVolumes?: ReadonlyMap<string, Init<ImageSpec>>;
  readonly devices?: readonly Device[];
  /** Qualified names of CDI devices. */
  readonly cdiDevices?: readonly string[];
  /** Annotations that device plugins want; the kubelet's own win. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** The host's file that takes the termination message; absent where it could not be made. */
  readonly terminationMessageFile?: string;
  /** Whether the node runs SELinux: the termination message file is relabelled then. */
  readonly selinuxEnabled?: boolean;
  /** For an ephemeral container with `targetContainerName`: the id of the container whose processes it sees. */
  readonly targetContainerId?: string;
  /** Whether this container has CPUs of its own: no CFS quota then. */
  readonly hasExclusiveCpus?: boolean;
}
