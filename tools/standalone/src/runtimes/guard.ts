import type { ContainerEventResponse } from '@node-agent/cri-client';

/** Label of the sandboxes and containers of a run. The value of the label identifies the run. */
export const RUN_LABEL = 'node-agent.dev/standalone-run';

type Labels = Readonly<Record<string, string>>;

/**
 * Request fields whose objects receive the label, by RPC. `SELECTED` below lists the RPCs that receive a label
 * selector.
 */
const MARKED: Readonly<Record<string, readonly string[]>> = {
  runPodSandbox: ['config'],
  createContainer: ['config', 'sandboxConfig'],
};
const SELECTED = new Set([
  'listPodSandbox',
  'streamPodSandboxes',
  'listContainers',
  'streamContainers',
  'listPodSandboxStats',
  'streamPodSandboxStats',
  'listContainerStats',
  'streamContainerStats',
]);

/**
 * Restricts a CRI request to the pods of a run. A kubelet stops every pod of its runtime that it does not know, so in a
 * shared runtime the kubelet must see only its own pods: created objects are labelled, and lists are filtered by that
 * label.
 * @param rpc name of the RPC in camel case
 * @returns the request to send to the runtime
 */
export function guardRequest(rpc: string, request: object, run: string): object {
  const fields = MARKED[rpc];
  if (fields !== undefined) {
    return fields.reduce((marked, field) => withLabel(marked, field, 'labels', run), request);
  }
  return SELECTED.has(rpc) ? withLabel(request, 'filter', 'labelSelector', run) : request;
}

function withLabel(request: object, field: string, labels: string, run: string): object {
  const holder = record(Reflect.get(request, field));
  return { ...request, [field]: { ...holder, [labels]: { ...record(holder[labels]), [RUN_LABEL]: run } } };
}

/**
 * Returns whether an event belongs to a pod of the run. Also returns true for an event without a sandbox status,
 * because the pod no longer exists and its labels are unknown.
 */
export function isOwnEvent(
  { podSandboxStatus }: Pick<ContainerEventResponse, 'podSandboxStatus'>,
  run: string,
): boolean {
  return podSandboxStatus === null || isOwn(podSandboxStatus.labels, run);
}

/** Returns whether labels contain the label of the run. */
export function isOwn(labels: Labels, run: string): boolean {
  return labels[RUN_LABEL] === run;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
