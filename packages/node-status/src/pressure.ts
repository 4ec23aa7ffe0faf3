import { setCondition } from './conditions.ts';
import { conditionOf, type Node } from './node.ts';

/** The resources under pressure, as the eviction manager reports them. */
export interface PressureFacts {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

interface Wording {
  readonly type: string;
  /** Reason, message and event of the condition while the resource is under pressure. */
  readonly short: readonly [reason: string, message: string, event: string];
  readonly enough: readonly [reason: string, message: string, event: string];
}

const WORDINGS: Readonly<Record<keyof PressureFacts, Wording>> = {
  memory: {
    type: 'MemoryPressure',
    short: ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available', 'NodeHasInsufficientMemory'],
    enough: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available', 'NodeHasSufficientMemory'],
  },
  disk: {
    type: 'DiskPressure',
    short: ['KubeletHasDiskPressure', 'kubelet has disk pressure', 'NodeHasDiskPressure'],
    enough: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure', 'NodeHasNoDiskPressure'],
  },
  pid: {
    type: 'PIDPressure',
    short: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available', 'NodeHasInsufficientPID'],
    enough: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available', 'NodeHasSufficientPID'],
  },
};

/**
 * Sets the conditions MemoryPressure, DiskPressure and PIDPressure (`nodestatus/setters.go`). Reason and message are
 * kept while the status stays the same.
 */
export function setPressure(node: Node, pressure: PressureFacts, nowMs: number): Node {
  return KINDS.reduce((after, kind) => {
    const { type, short, enough } = WORDINGS[kind];
    const status = pressure[kind] ? 'True' : 'False';
    const before = conditionOf(node, type);
    const [reason, message] = pressure[kind] ? short : enough;
    const kept = before?.status === status ? { reason: before.reason ?? '', message: before.message ?? '' } : {};
    return setCondition(after, { type, status, reason, message, ...kept }, nowMs);
  }, node);
}

const KINDS = ['memory', 'disk', 'pid'] as const;

/**
 * Returns the reasons of the events for changed pressure conditions. A condition that did not exist before counts as
 * changed.
 */
export function pressureEvents(before: Node, after: Node): readonly string[] {
  return KINDS.flatMap((kind) => {
    const { type, short, enough } = WORDINGS[kind];
    const status = conditionOf(after, type)?.status;
    if (status === undefined || status === conditionOf(before, type)?.status) return [];
    return [status === 'True' ? short[2] : enough[2]];
  });
}
