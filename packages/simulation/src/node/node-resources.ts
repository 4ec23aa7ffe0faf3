import type { CgroupManager } from '@node-agent/cm-cgroups';
import { parseThresholds } from '@node-agent/eviction';
import type { AssemblySettings, NodePorts } from '@node-agent/kubelet-assembly';
import type { EventRecorder } from '@node-agent/telemetry';
import type { Happening } from '../observation.ts';
import type { NodePlan } from '../scenario/actions.ts';
import { EVICTION_HARD } from '../world/pressure.ts';
import type { World } from '../world/world.ts';
import { guardedCgroups } from './guarded-ports.ts';
import type { Lease } from './lease.ts';

/** Who measures a node. */
export type Summary = NonNullable<NodePorts['statistics']>['summary'];

/** The ports of a node whose resources are counted; none where they are not. */
export function resourcePorts(
  lease: Lease,
  world: World,
  tell: (happening: Happening) => void,
  { changeSummary = (of) => of, changeCgroups = (of) => of }: ResourceChanges,
): Pick<NodePorts, 'statistics' | 'openCgroups'> {
  const { pressure, cgroups } = world;
  if (pressure === undefined || cgroups === undefined) return {};
  const summary: Summary = async () => {
    const { figures, summary } = pressure.figures();
    tell({ kind: 'figures', figures });
    return summary;
  };
  const measured = changeSummary(summary);
  return {
    statistics: {
      summary: (options, signal) =>
        lease.call({ port: 'stats', name: 'summary', args: [] }, signal, (linked) => measured(options, linked)),
    },
    openCgroups: async () => guardedCgroups(lease, changeCgroups(cgroups)),
  };
}

/** What tests put in the place of the machine's resources. */
export interface ResourceChanges {
  readonly changeSummary?: ((summary: Summary) => Summary) | undefined;
  readonly changeCgroups?: ((cgroups: CgroupManager) => CgroupManager) | undefined;
}

/** How a kubelet is set that counts them. */
export function resourceSettings({ resources }: NodePlan): Pick<AssemblySettings, 'eviction' | 'nodeAllocatable'> {
  if (resources === undefined) return {};
  return {
    nodeAllocatable: { cpu: String(resources.cpuCount), memory: '16Gi', pods: '110' },
    eviction: {
      thresholds: parseThresholds({ evictionHard: EVICTION_HARD }),
      pressureTransitionMs: resources.pressureTransitionMs,
      localStorageCapacityIsolation: false,
    },
  };
}

/** Tells of the events by which a kubelet says that it ends a pod for others' sake. */
export function tellingRecorder(lease: Lease, tell: (happening: Happening) => void): EventRecorder {
  return {
    event({ uid }, _type, reason) {
      if (uid === undefined || lease.dead || (reason !== 'Evicted' && reason !== 'Preempting')) return;
      tell({ kind: 'podEndedByNode', uid, reason });
    },
  };
}
