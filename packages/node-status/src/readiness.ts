import { aggregateText } from '@node-agent/telemetry';
import { setCondition } from './conditions.ts';
import { conditionOf, type Node } from './node.ts';

/** The errors that keep a node from being ready, in upstream's words. All lists are empty if the node is ready. */
export interface ReadinessFacts {
  /**
   * Errors of the runtime: `container runtime is down`, `PLEG is not healthy: ...`, `container runtime not ready: ...`.
   */
  readonly runtimeErrors: readonly string[];
  /** Errors of the pod network: `container runtime network not ready: NetworkReady=false reason:... message:...`. */
  readonly networkErrors: readonly string[];
  readonly storageErrors?: readonly string[];
  /** Errors because of a shutdown, for example `node is shutting down`. */
  readonly shutdownErrors?: readonly string[];
  /** A shortcoming of a ready node (`CPU hardcapping unsupported`), which is added to the message. */
  readonly warning?: string | undefined;
}

/**
 * Sets the condition Ready (`nodestatus/setters.go`, ReadyCondition): The condition is True if there are no errors and
 * the capacity has all resources that a scheduler needs. The Ready condition stays after the other conditions of this
 * kubelet in the list.
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

/**
 * Returns the reason of the event for a change of readiness. Returns none if the node had no Ready condition before.
 */
export function readyEvents(before: Node, after: Node): readonly string[] {
  const from = conditionOf(before, 'Ready')?.status;
  const to = conditionOf(after, 'Ready')?.status;
  if (from === undefined || from === to) return [];
  return [to === 'True' ? 'NodeReady' : 'NodeNotReady'];
}
