import { cgroupfsPath, kubepodsName, parseCgroupfsPath, readHierarchy, systemdPath } from '@node-agent/cm-cgroups';
import type { KubeletConfiguration } from '@node-agent/config';
import { cgroupMemoryGauge, type Gauge, nodeMemoryGauge, nodeProcessGauge } from '@node-agent/eviction';
import type { FileSystem } from '@node-agent/host';

/** What is looked at between two measurements of the node: files of the kernel that cost next to nothing to read. @param kernel how they are read */
export async function nodeGauges(
  { fs, kernel }: { readonly fs: FileSystem; readonly kernel: Pick<FileSystem, 'readFile'> },
  configuration: Pick<KubeletConfiguration, 'cgroupsPerQOS' | 'cgroupRoot' | 'enforceNodeAllocatable'>,
): Promise<readonly Gauge[]> {
  const gauges = [nodeMemoryGauge(kernel), nodeProcessGauge(kernel)];
  const { cgroupsPerQOS, cgroupRoot, enforceNodeAllocatable } = configuration;
  if (!cgroupsPerQOS || !enforceNodeAllocatable.includes('pods')) return gauges;
  const hierarchy = await readHierarchy(fs);
  const mount = hierarchy.version === 1 ? hierarchy.mounts.get('memory') : hierarchy.mount;
  if (mount === undefined) return gauges;
  const kubepods = kubepodsName(parseCgroupfsPath(cgroupRoot || '/'));
  const [gauge, other] = [cgroupfsPath(kubepods), systemdPath(kubepods)].map((group) =>
    cgroupMemoryGauge(kernel, `${mount}${group}`, hierarchy.version),
  ) as [Gauge, Gauge];
  // Which driver there is the runtime says, later.
  const available = (signal: AbortSignal): Promise<number> =>
    other.available(signal).catch(() => gauge.available(signal));
  return [...gauges, { ...gauge, available }];
}
