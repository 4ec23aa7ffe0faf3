import { Prober } from '@node-agent/prober';
import type { StatusManager } from '@node-agent/status';
import { noMetrics } from '@node-agent/telemetry';
import type { PartComponents } from './cluster-ports.ts';
import { commandRunner } from './command-runner.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/**
 * Creates the node's prober. Exec probes run through the runtime; container IDs and states come from the pod statuses.
 */
export function nodeProber(
  child: (component: string) => PartComponents,
  { cri, probeMetrics, probePorts }: Pick<NodePorts, 'cri' | 'probeMetrics' | 'probePorts'>,
  { restartFeatures }: Pick<AssemblySettings, 'restartFeatures'>,
  statuses: Pick<StatusManager, 'getPodStatus'>,
): Prober {
  const ports = { ...probePorts, exec: commandRunner(cri) };
  const metrics = probeMetrics ?? noMetrics;
  return new Prober({ ...child('prober'), metrics, statuses, ports }, { ...(restartFeatures && { restartFeatures }) });
}
