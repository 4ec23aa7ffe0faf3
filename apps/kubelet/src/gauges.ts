import { type CgroupDriver, driverPath, kubepodsName, parseCgroupfsPath, readHierarchy } from '@node-agent/cm-cgroups';
import type { KubeletConfiguration } from '@node-agent/config';
import { cgroupMemoryGauge, type Gauge, nodeMemoryGauge, nodeProcessGauge } from '@node-agent/eviction';
import type { FileSystem } from '@node-agent/host';

/**
 * What is looked at between two measurements of the node: files of the kernel that cost next to nothing to read.
 * @param kernel how they are read
 * @param driver the one that groups are made with, once it is known
 */
export async function nodeGauges(
  { fs, kernel }: { readonly fs: FileSystem; readonly kernel: Pick<FileSystem, 'readFile'> },
  configuration: Pick<KubeletConfiguration, 'cgroupsPerQOS' | 'cgroupRoot' | 'enforceNodeAllocatable'>,
  driver: () => CgroupDriver | undefined,
): Promise<readonly Gauge[]> {
  const gauges = [nodeMemoryGauge(kernel), nodeProcessGauge(kernel)];
  const { cgroupsPerQOS, cgroupRoot, enforceNodeAllocatable } = configuration;
  if (!cgroupsPerQOS || !enforceNodeAllocatable.includes('pods')) return gauges;
  const hierarchy = await readHierarchy(fs);
  const mount = hierarchy.version === 1 ? hierarchy.mounts.get('memory') : hierarchy.mount;
  if (mount === undefined) return gauges;
  const kubepods = kubepodsName(parseCgroupfsPath(cgroupRoot || '/'));
  const gaugeOf = (made: CgroupDriver): Gauge =>
    cgroupMemoryGauge(kernel, `${mount}${driverPath(kubepods, made)}`, hierarchy.version);
  const byDriver = { cgroupfs: gaugeOf('cgroupfs'), systemd: gaugeOf('systemd') };
  // A group that another driver has left there tells nothing of the pods. Which driver there is the runtime says, before any pod runs.
  const available = async (signal: AbortSignal): Promise<number> => {
    const made = driver();
    return made === undefined ? Number.NaN : await byDriver[made].available(signal);
  };
  return [...gauges, { ...byDriver.cgroupfs, available }];
}
