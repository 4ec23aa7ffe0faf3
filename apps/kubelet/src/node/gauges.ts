import { type CgroupDriver, driverPath, kubepodsName, parseCgroupfsPath, readHierarchy } from '@node-agent/cm-cgroups';
import type { KubeletConfiguration } from '@node-agent/config';
import { cgroupMemoryGauge, type Gauge, nodeMemoryGauge, nodeProcessGauge } from '@node-agent/eviction';
import type { FileSystem } from '@node-agent/host';

/**
 * Creates the gauges that are read between two full measurements of the node. Each gauge reads one small kernel file.
 * @param kernel file system with which the kernel's files are read
 * @param driver returns the cgroup driver; `undefined` until the driver is known
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
  // Reads only the cgroup of the driver in use: a cgroup that another driver left behind does not contain the pods. The
  // runtime reports the driver before any pod runs.
  const available = async (signal: AbortSignal): Promise<number> => {
    const made = driver();
    return made === undefined ? Number.NaN : await byDriver[made].available(signal);
  };
  return [...gauges, { ...byDriver.cgroupfs, available }];
}
