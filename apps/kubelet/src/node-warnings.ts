import type { Machine } from './machine.ts';

/** An event about the machine that is told when the kubelet begins. */
export interface NodeWarning {
  readonly reason: string;
  readonly message: string;
}

const CGROUP_V1: NodeWarning = {
  reason: 'CgroupV1',
  message:
    'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1',
};
const MEMORY_ON_DISK: NodeWarning = {
  reason: 'PossibleMemoryBackedVolumesOnDisk',
  message:
    'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.',
};

/**
 * What people have to know of this machine, in upstream's words (`pkg/kubelet/kubelet_linux.go`, `NewContainerManager` of `pkg/kubelet/cm`).
 * @param supportsNoswap whether a tmpfs can be kept out of swap; asked where there is any
 */
export async function nodeWarnings(
  { cgroupVersion, swapOn }: Pick<Machine, 'cgroupVersion' | 'swapOn'>,
  supportsNoswap: () => Promise<boolean>,
): Promise<readonly NodeWarning[]> {
  return [
    ...(cgroupVersion === 1 ? [CGROUP_V1] : []),
    ...(swapOn && !(await supportsNoswap()) ? [MEMORY_ON_DISK] : []),
  ];
}
