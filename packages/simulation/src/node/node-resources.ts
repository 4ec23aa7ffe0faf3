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

/** Type of the port that returns the stats summary of a node. */
export type Summary = NonNullable<NodePorts['statistics']>['summary'];

/**
 * Returns the ports of a node with simulated resources. Returns no port for a node whose resources are not simulated.
 */
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
  // The simulated amount of memory or disk is either plenty or almost nothing. While plenty is available, the kubelet
  // reads the gauge every 4 s.
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

/** Changes of the machine's resources by which tests break invariants on purpose. */
export interface ResourceChanges {
  readonly changeSummary?: ((summary: Summary) => Summary) | undefined;
  readonly changeCgroups?: ((cgroups: CgroupManager) => CgroupManager) | undefined;
  /** Changes the soft thresholds in the kubelet's configuration. */
  readonly changeSoft?: ((soft: SoftThresholdsPlan | undefined) => SoftThresholdsPlan | undefined) | undefined;
  /** If true, the kubelet cannot remove images. */
  readonly keepImages?: boolean | undefined;
  /** Number of CPUs that the kubelet detects. */
  readonly cpuCount?: number | undefined;
}

/** Disk stats for image garbage collection: the disk never looks full, so that only eviction removes images. */
const DISK = { totalBytes: 2 ** 40, availableBytes: 2 ** 39 };

/** Returns the kubelet's settings for a node with simulated resources. */
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

/** Returns an event recorder that reports evictions, preemptions and rejected pods to the simulation. */
export function tellingRecorder(lease: Lease, tell: (happening: Happening) => void): EventRecorder {
  return {
    event({ uid }, _type, reason, message) {
      if (uid === undefined || lease.dead) return;
      const isRefusal =
        message.startsWith('The node had condition') ||
        /^(OutOf|UnexpectedAdmission|NodeShutdown|TopologyAffinity|SMTAlignment|EmptyPodSharedPool)/.test(reason);
      if (isRefusal) tell({ kind: 'podRefused', uid, reason });
      else if (reason === 'Preempting') tell({ kind: 'podEndedByNode', uid, reason });
      else if (reason === 'Evicted') tell({ kind: 'podEndedByNode', uid, reason, of: scarceIn(message) });
    },
  };
}

/** Returns the resource for which a pod was evicted, memory or disk, from the message of the event. */
function scarceIn(message: string): Scarce | undefined {
  if (message.startsWith('The node was low on resource: memory')) return 'memory';
  return message.startsWith('The node was low on resource: ephemeral-storage') ? 'disk' : undefined;
}
