import type { Machine } from './machine.ts';

/** Event about the machine that is recorded when the kubelet starts. */
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
 * Returns the warnings about this machine, with upstream's texts (`pkg/kubelet/kubelet_linux.go`, `NewContainerManager`
 * of `pkg/kubelet/cm`).
 * @param supportsNoswap returns whether tmpfs supports the option `noswap`; called only if swap is in use
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
