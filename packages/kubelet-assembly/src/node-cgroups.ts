import { type CgroupDriver, CgroupError, type CgroupManager, PodCgroups } from '@node-agent/cm-cgroups';
import { CgroupDriver as CriCgroupDriver, CriError, type RuntimeService } from '@node-agent/cri-client';
import type { Pod } from '@node-agent/pod-spec';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/**
 * Creates the manager of pod cgroups, or returns `undefined` if this node has no pod cgroups. The runtime and the
 * kubelet must use the same cgroup driver, so the driver that the runtime reports takes precedence over the configured
 * one.
 */
export function nodeCgroups(
  child: (component: string) => PartComponents,
  { cri, openCgroups }: Pick<NodePorts, 'openCgroups'> & { readonly cri: Pick<RuntimeService, 'runtimeConfig'> },
  { cgroups: settings = {}, nodeName }: Pick<AssemblySettings, 'cgroups' | 'nodeName'>,
  hasExclusiveCpus: (pod: Pod) => boolean = () => false,
): PodCgroups | undefined {
  if (openCgroups === undefined) return undefined;
  const { driver = 'cgroupfs', ...options } = settings;
  const components = child('cgroups');
  const open = async (): Promise<CgroupManager> => await openCgroups((await runtimeDriver(cri, components)) ?? driver);
  const nodeRef = { kind: 'Node', name: nodeName, uid: nodeName };
  return new PodCgroups({ ...components, open, hasExclusiveCpus }, { ...options, nodeRef });
}

/**
 * First Kubernetes version that does not support runtimes without the call `RuntimeConfig`. Upstream reports the same
 * version.
 */
const NEEDS_RUNTIME_CONFIG = '1.37.0';

/**
 * Returns the cgroup driver of the runtime (KEP-4033); `undefined` if the runtime does not report it.
 * @throws CriError if the runtime does not respond
 * @throws CgroupError `UnsupportedDriver` for an unknown driver, as in upstream (`getCgroupDriverFromCRI` in
 * `cmd/kubelet/app/server.go`)
 */
async function runtimeDriver(
  cri: Pick<RuntimeService, 'runtimeConfig'>,
  { metrics, logger }: Pick<PartComponents, 'metrics' | 'logger'>,
): Promise<CgroupDriver | undefined> {
  try {
    const { linux } = await cri.runtimeConfig({});
    return linux === null ? undefined : driverOf(linux.cgroupDriver);
  } catch (err) {
    if (!CriError.is(err) || err.code !== 'UNIMPLEMENTED') throw err;
    metrics
      .gauge({
        name: 'kubelet_cri_losing_support',
        help: 'the Kubernetes version that the currently running CRI implementation will lose support on if not upgraded.',
        labels: ['version'],
      })
      .set({ version: NEEDS_RUNTIME_CONFIG }, 1);
    logger.info(
      {},
      'Runtime does not report its cgroup driver (RuntimeConfig) and should be updated; using the configured driver',
    );
    return undefined;
  }
}

function driverOf(told: CriCgroupDriver): CgroupDriver {
  switch (told) {
    case CriCgroupDriver.SYSTEMD:
      return 'systemd';
    case CriCgroupDriver.CGROUPFS:
      return 'cgroupfs';
    default:
      throw new CgroupError('UnsupportedDriver', `runtime returned an unknown cgroup driver ${told}`);
  }
}
