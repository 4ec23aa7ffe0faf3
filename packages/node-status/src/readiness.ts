import { aggregateText } from '@node-agent/telemetry';
import { setCondition } from './conditions.ts';
import { conditionOf, type Node } from './node.ts';

/** What keeps a node from being ready, in upstream's words; all empty where nothing does. */
export interface ReadinessFacts {
  /** `container runtime is down`, `PLEG is not healthy: ...`, `container runtime not ready: ...`. */
  readonly runtimeErrors: readonly string[];
  /** `container runtime network not ready: NetworkReady=false reason:... message:...`. */
  readonly networkErrors: readonly string[];
  readonly storageErrors?: readonly string[];
  /** `node is shutting down`. */
  readonly shutdownErrors?: readonly string[];
  /** What a ready node lacks and could do with (`CPU hardcapping unsupported`); it goes into the message. */
  readonly warning?: string | undefined;
}

/**
 * The node with the condition Ready (`nodestatus/setters.go`, ReadyCondition): True where nothing is wrong and the capacity has all
 * that a scheduler counts with. It stays behind the other conditions of this kubelet.
 */
export function setReady(
  node: Node,
  facts: ReadinessFacts,
  settings: { readonly localStorageCapacityIsolation: boolean },
  nowMs: number,
): Node {
  const needed = ['cpu', 'memory', 'pods', ...(settings.localStorageCapacityIsolation ? ['ephemeral-storage'] : [])];
  const missing = needed.filter((resource) => node.status?.capacity?.[resource] === undefined);
  const errors = [
    ...facts.runtimeErrors,
    ...facts.networkErrors,
    ...(facts.storageErrors ?? []),
    ...(facts.shutdownErrors ?? []),
    ...(missing.length > 0 ? [`missing node capacity for resources: ${missing.join(', ')}`] : []),
  ];
  const ready = errors.length === 0;
  const text = ready ? 'kubelet is posting ready status' : aggregateText(errors);
  const verdict = {
    type: 'Ready',
    status: ready ? 'True' : 'False',
    reason: ready ? 'KubeletReady' : 'KubeletNotReady',
    message: facts.warning === undefined ? text : `${text}. WARNING: ${facts.warning}`,
  } as const;
  return setCondition(node, verdict, nowMs);
}

/** The reason of the event that tells of a change of readiness; none for a node that had no such condition. */
export function readyEvents(before: Node, after: Node): readonly string[] {
  const from = conditionOf(before, 'Ready')?.status;
  const to = conditionOf(after, 'Ready')?.status;
  if (from === undefined || from === to) return [];
  return [to === 'True' ? 'NodeReady' : 'NodeNotReady'];
}
