import { type CgroupDriver, type CgroupManager, PodCgroups } from '@node-agent/cm-cgroups';
import { CgroupDriver as CriCgroupDriver, CriError, type RuntimeService } from '@node-agent/cri-client';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** The groups of pods, where this node makes any. Runtime and kubelet have to agree on how: the runtime's word counts. */
export function nodeCgroups(
  child: (component: string) => PartComponents,
  { cri, openCgroups }: Pick<NodePorts, 'cri' | 'openCgroups'>,
  { cgroups: settings = {}, nodeName }: Pick<AssemblySettings, 'cgroups' | 'nodeName'>,
): PodCgroups | undefined {
  if (openCgroups === undefined) return undefined;
  const { driver = 'cgroupfs', ...options } = settings;
  const open = async (): Promise<CgroupManager> => await openCgroups((await runtimeDriver(cri)) ?? driver);
  const nodeRef = { kind: 'Node', name: nodeName, uid: nodeName };
  return new PodCgroups({ ...child('cgroups'), open }, { ...options, nodeRef });
}

/** The driver that the runtime says it has (KEP-4033); `undefined` where it says nothing. @throws CriError where it does not answer */
async function runtimeDriver(cri: Pick<RuntimeService, 'runtimeConfig'>): Promise<CgroupDriver | undefined> {
  try {
    const { linux } = await cri.runtimeConfig({});
    if (linux === null) return undefined;
    return linux.cgroupDriver === CriCgroupDriver.SYSTEMD ? 'systemd' : 'cgroupfs';
  } catch (err) {
    if (CriError.is(err) && err.code === 'UNIMPLEMENTED') return undefined;
    throw err;
  }
}
