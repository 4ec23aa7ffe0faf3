import type { MachineInfo } from './machine-info.ts';
import type { NodeSystemInfo } from './node.ts';

/** The version of the runtime (CRI `Version`). */
export interface RuntimeVersion {
  /** The name of the runtime, for example `containerd`. */
  readonly name: string;
  /**
   * The version of the runtime, for example `2.1.9` or `v2.1.9`. The version is `undefined` if the runtime does not
   * respond.
   */
  readonly version: string | undefined;
}

/** Values that do not change while this kubelet runs. */
export interface SystemSettings {
  /**
   * A semantic version: the Kubernetes release whose behaviour this kubelet has, and its own version after a plus sign.
   */
  readonly kubeletVersion: string;
  /** The operating system with Go's name, such as `linux`. */
  readonly operatingSystem: string;
  /** The architecture with Go's name, such as `amd64` or `arm64`. */
  readonly architecture: string;
}

const UNKNOWN = {
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
  containerRuntimeVersion: '',
};

/**
 * Returns the node's `nodeInfo` (`nodestatus/setters.go`, MachineInfo, VersionInfo and GoRuntime). Values that are
 * currently unknown keep the node's previous values. The kube-proxy version, which a kubelet cannot know, is cleared.
 */
export function systemInfo(
  before: NodeSystemInfo | undefined,
  machine: MachineInfo | undefined,
  runtime: RuntimeVersion | undefined,
  settings: SystemSettings,
): NodeSystemInfo {
  const { swap, ...known }: Partial<NodeSystemInfo> & typeof UNKNOWN = before ?? UNKNOWN;
  const swapOf = machine === undefined ? swap : machine.swapBytes > 0 ? { capacity: machine.swapBytes } : undefined;
  return {
    ...known,
    ...(machine && {
      machineID: machine.machineId,
      systemUUID: machine.systemUuid,
      bootID: machine.bootId,
      kernelVersion: machine.kernelVersion,
      osImage: machine.osImage,
    }),
    ...(runtime && { containerRuntimeVersion: `${runtime.name}://${versionText(runtime.version) ?? 'Unknown'}` }),
    kubeletVersion: settings.kubeletVersion,
    kubeProxyVersion: '',
    operatingSystem: settings.operatingSystem,
    architecture: settings.architecture,
    ...(swapOf && { swap: swapOf }),
  };
}

/**
 * Returns a version without a leading `v`. Of a version that is not semantic, only the numbers at the beginning are
 * kept.
 */
function versionText(version: string | undefined): string | undefined {
  const text = version?.trim().replace(/^v/, '');
  if (text === undefined) return undefined;
  const semantic = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
  return semantic.test(text) ? text : /^\d+(\.\d+)+/.exec(text)?.[0];
}

/** Returns Go's name for a value of Node.js' `process.arch`. */
export function goArchitecture(arch: string): string {
  return { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' }[arch] ?? arch;
}
