import { cgroupfsPath, kubepodsName, type PodCgroups, parseCgroupfsPath } from '@node-agent/cm-cgroups';
import { type StatsComponents, StatsProvider } from '@node-agent/stats';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/**
 * Creates the stats provider of the node and its pods. Returns `undefined` if the program does not supply
 * `NodePorts.stats`.
 */
export function nodeStats(
  child: (component: string) => PartComponents,
  { cri, fs, stats: files }: Pick<NodePorts, 'cri' | 'fs' | 'stats'>,
  settings: Pick<AssemblySettings, 'nodeName' | 'rootDirectory' | 'node' | 'cgroups' | 'stats'>,
  volumeUsage: NonNullable<StatsComponents['volumeUsage']>,
  cgroups: Pick<PodCgroups, 'kubepodsPath'> | undefined,
): StatsProvider | undefined {
  if (files === undefined) return undefined;
  const { volumePeriodMs: _period, ...groups } = settings.stats ?? {};
  const root = parseCgroupfsPath(settings.cgroups?.cgroupRoot ?? '/');
  return new StatsProvider(
    { ...child('stats'), cri, fs, trees: fs, volumeUsage, ...files },
    {
      ...groups,
      nodeName: settings.nodeName,
      rootDirectory: settings.rootDirectory,
      podLogsDirectory: settings.node.podLogsDirectory,
      // The path is read on each use: the runtime reports the cgroup driver, so the path is known only after the
      // cgroups were created.
      kubepods: () => cgroups?.kubepodsPath() ?? cgroupfsPath(kubepodsName(root)),
    },
  );
}
