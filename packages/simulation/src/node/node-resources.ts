import type { CgroupManager } from '@node-agent/cm-cgroups';
import { type Gauge, parseThresholds } from '@node-agent/eviction';
import type { AssemblySettings, NodePorts } from '@node-agent/kubelet-assembly';
import type { EventRecorder } from '@node-agent/telemetry';
import type { Happening } from '../observation.ts';
import type { NodePlan, SoftThresholdsPlan } from '../scenario/actions.ts';
import { EVICTION_HARD, EVICTION_SOFT, type Scarce } from '../world/pressure.ts';
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
  { changeSummary = (of) => of, changeCgroups = (of) => of, keepImages = false }: ResourceChanges,
): Pick<NodePorts, 'statistics' | 'gauges' | 'openCgroups' | 'disks'> {
  const { pressure, cgroups } = world;
  if (pressure === undefined || cgroups === undefined) return {};
  const summary: Summary = async () => {
    const { figures, summary } = pressure.figures();
    tell({ kind: 'figures', figures });
    return summary;
  };
  const measured = changeSummary(summary);
  // There is plenty or next to nothing: while there is plenty, a look each 4 s.
  const gauge = (signal: Gauge['signal'], of: Scarce): Gauge => ({
    ...{ signal, perSecond: 2 ** 31 },
    available: async () => pressure.left(of),
  });
  return {
    statistics: {
      summary: (options, signal) =>
        lease.call({ port: 'stats', name: 'summary', args: [] }, signal, (linked) => measured(options, linked)),
    },
    gauges: [gauge('memory.available', 'memory'), gauge('nodefs.available', 'disk')],
    openCgroups: async () => guardedCgroups(lease, changeCgroups(cgroups)),
    ...(!keepImages && { disks: { statfs: async () => DISK } }),
  };
}

/** What tests put in the place of the machine's resources. */
export interface ResourceChanges {
  readonly changeSummary?: ((summary: Summary) => Summary) | undefined;
  readonly changeCgroups?: ((cgroups: CgroupManager) => CgroupManager) | undefined;
  /** The soft thresholds as the kubelet is told of them. */
  readonly changeSoft?: ((soft: SoftThresholdsPlan | undefined) => SoftThresholdsPlan | undefined) | undefined;
  /** The kubelet cannot remove images. */
  readonly keepImages?: boolean | undefined;
  /** What the kubelet takes the CPU of its node to be, in whole ones. */
  readonly cpuCount?: number | undefined;
}

/** Images are removed when the node is short of disk, and at no other time. */
const DISK = { totalBytes: 2 ** 40, availableBytes: 2 ** 39 };

/** How a kubelet is set that counts them. */
export function resourceSettings(
  { resources }: NodePlan,
  { cpuCount = resources?.cpuCount, changeSoft: changedSoft = (of) => of }: ResourceChanges,
): Pick<AssemblySettings, 'eviction' | 'nodeAllocatable' | 'imageGc'> {
  if (resources === undefined) return {};
  const soft = changedSoft(resources.soft);
  return {
    nodeAllocatable: { cpu: String(cpuCount), memory: '16Gi', pods: '110' },
    imageGc: { highThresholdPercent: 100, minAgeMs: 0 },
    eviction: {
      thresholds: parseThresholds({ evictionHard: EVICTION_HARD, ...softThresholds(soft) }),
      pressureTransitionMs: resources.pressureTransitionMs,
      ...(soft && { maxPodGracePeriodSeconds: soft.maxPodGraceSeconds }),
      localStorageCapacityIsolation: false,
    },
  };
}

function softThresholds(soft: SoftThresholdsPlan | undefined): Partial<Parameters<typeof parseThresholds>[0]> {
  if (soft === undefined) return {};
  const graceMs = soft.graceSeconds * 1000;
  const evictionSoftGracePeriodMs = Object.fromEntries(Object.keys(EVICTION_SOFT).map((signal) => [signal, graceMs]));
  return { evictionSoft: EVICTION_SOFT, evictionSoftGracePeriodMs };
}

/** Tells of the events by which a kubelet says that it ends a pod for others' sake, or has no place for it. */
export function tellingRecorder(lease: Lease, tell: (happening: Happening) => void): EventRecorder {
  return {
    event({ uid }, _type, reason, message) {
      if (uid === undefined || lease.dead) return;
      const isRefusal =
        message.startsWith('The node had condition') || /^(OutOf|UnexpectedAdmission|NodeShutdown)/.test(reason);
      if (isRefusal) tell({ kind: 'podRefused', uid, reason });
      else if (reason === 'Preempting') tell({ kind: 'podEndedByNode', uid, reason });
      else if (reason === 'Evicted') tell({ kind: 'podEndedByNode', uid, reason, of: scarceIn(message) });
    },
  };
}

/** For a lack of what a pod is evicted, as its event says. */
function scarceIn(message: string): Scarce | undefined {
  if (message.startsWith('The node was low on resource: memory')) return 'memory';
  return message.startsWith('The node was low on resource: ephemeral-storage') ? 'disk' : undefined;
}
