import { CsiDriverRegistry, CsiNodeInfo } from '@node-agent/csi';
import type { BackgroundService } from '@node-agent/kubelet-core';
import type { CsiDriverObjects } from './cluster-csi.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that {@link nodeCsi} needs besides ports and settings. */
export interface CsiParts {
  readonly objects: Pick<ClusterObjects, 'csiDrivers' | 'csiNode'>;
  /** Called when a driver was registered or deregistered. */
  readonly onDriverChanged: () => void;
  /** Called when a CSIDriver object was added, changed or deleted. */
  readonly onObjectChanged: () => void;
  /** Called when {@link CsiNodeInfo.problem} has changed, because the problem makes the node not ready. */
  readonly onProblemChanged: () => void;
}

/** The registry of the node's CSI drivers, and the component that lists the drivers in CSINode and Node. */
export interface NodeCsi {
  readonly registry: CsiDriverRegistry;
  readonly nodeInfo: CsiNodeInfo;
  readonly services: readonly BackgroundService[];
}

/**
 * Creates the registry of CSI drivers. Returns `undefined` if no plugin directory is configured, so that no driver can
 * register.
 */
export function nodeCsi(
  child: (component: string) => PartComponents,
  { deviceTransport: transport }: Pick<NodePorts, 'deviceTransport'>,
  { nodeName, pluginsDirectory }: Pick<AssemblySettings, 'nodeName' | 'pluginsDirectory'>,
  { objects: { csiDrivers, csiNode }, onDriverChanged, onObjectChanged, onProblemChanged }: CsiParts,
): NodeCsi | undefined {
  if (pluginsDirectory === undefined) return undefined;
  const nodeInfo = new CsiNodeInfo({ ...child('csi-node'), api: csiNode, onProblemChanged }, { nodeName });
  const registry = new CsiDriverRegistry({
    ...child('csi'),
    ...{ nodeInfo, onDriverChanged, ...(transport && { transport }) },
    allocatableUpdatePeriodSeconds: (driver) => csiDrivers.known(driver)?.spec.nodeAllocatableUpdatePeriodSeconds,
  });
  const onChanged = (driver: string): void => {
    registry.csiDriverChanged(driver);
    onObjectChanged();
  };
  return {
    ...{ registry, nodeInfo },
    services: [
      { name: 'CSINode', start: (signal) => nodeInfo.start(signal) },
      { name: 'CSI volume limits', start: (signal) => registry.start(signal) },
      { name: 'CSI driver changes', start: (signal) => followCsiDrivers(csiDrivers, onChanged, signal) },
    ],
  };
}

/** Reports each change of a CSIDriver by the driver's name until the signal is aborted. */
async function followCsiDrivers(
  csiDrivers: Pick<CsiDriverObjects, 'changes'>,
  onChanged: (driver: string) => void,
  signal: AbortSignal,
): Promise<void> {
  using changes = csiDrivers.changes();
  try {
    for (let change = await changes.take(signal); change !== undefined; change = await changes.take(signal)) {
      if (change.type !== 'synced') onChanged(change.key);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
