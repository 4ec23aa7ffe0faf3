/** Calls of the driver in which a fault happens, in the order of a volume's life. */
const FAULTED_RPCS = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'] as const;

/** Program that a case kills. */
type Killed = 'driver' | 'kubelet';

/** Fault that pods with claims meet. */
export interface FaultCase {
  readonly name: string;
  /** Whether the fault happens while the pods with claims start, or while they are deleted. */
  readonly during: 'start' | 'deletion';
  /** Call in which the driver hangs; undefined for no fault. */
  readonly rpc: string | undefined;
  /** Programs that are killed while the driver hangs. If empty, the driver only hangs. */
  readonly kills: readonly Killed[];
}

/** All cases, in the order in which they are measured. */
export const FAULT_CASES: readonly FaultCase[] = [
  { name: 'no fault, start', during: 'start', rpc: undefined, kills: [] },
  { name: 'no fault, deletion', during: 'deletion', rpc: undefined, kills: [] },
  { name: 'driver hangs in NodeStageVolume', during: 'start', rpc: 'NodeStageVolume', kills: [] },
  ...casesThatKill('driver killed', ['driver']),
  ...casesThatKill('kubelet killed', ['kubelet']),
  ...casesThatKill('both killed', ['driver', 'kubelet']),
];

function casesThatKill(what: string, kills: readonly Killed[]): readonly FaultCase[] {
  return FAULTED_RPCS.map((rpc) => ({
    ...{ name: `${what} in ${rpc}`, rpc, kills },
    during: rpc.startsWith('NodeUn') ? 'deletion' : 'start',
  }));
}
