import type { MachineInfo } from './machine-info.ts';
import type { NodeSystemInfo } from './node.ts';

/** What the runtime calls itself (CRI `Version`). */
export interface RuntimeVersion {
  /** `containerd`. */
  readonly name: string;
  /** `2.1.9`, or `v2.1.9`; `undefined` where it does not answer. */
  readonly version: string | undefined;
}

/** What does not change while this kubelet runs. */
export interface SystemSettings {
  /** A semantic version: of the Kubernetes release that this kubelet does as, and its own behind a plus sign. */
  readonly kubeletVersion: string;
  /** As Go names it: `linux`. */
  readonly operatingSystem: string;
  /** As Go names it: `amd64`, `arm64`. */
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
 * The node's `nodeInfo` (`nodestatus/setters.go`, MachineInfo, VersionInfo and GoRuntime). What is not known now stays as it
 * was. The version of kube-proxy, which a kubelet cannot know, is cleared.
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

/** A version without what does not belong to it: the `v` in front, and in one that is not semantic whatever follows the numbers. */
function versionText(version: string | undefined): string | undefined {
  const text = version?.trim().replace(/^v/, '');
  if (text === undefined) return undefined;
  const semantic = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
  return semantic.test(text) ? text : /^\d+(\.\d+)+/.exec(text)?.[0];
}

/** Go's name for what Node calls `process.arch`; the name itself where they agree. */
export function goArchitecture(arch: string): string {
  return { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' }[arch] ?? arch;
}
