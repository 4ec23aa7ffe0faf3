import type { ContainerEventResponse } from '@node-agent/cri-client';

/** Marks the sandboxes and containers of a run; its value names the run. */
export const RUN_LABEL = 'node-agent.dev/standalone-run';

type Labels = Readonly<Record<string, string>>;

/** Where a request carries labels to be written, or a selector of what is listed. */
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
 * A kubelet ends every pod of its runtime that it does not know. This makes it see, in a runtime that it shares, the
 * pods of its own run alone: what it makes is marked, and what it lists is selected by that mark.
 * @param rpc in camel case
 * @returns the request as the runtime gets it
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

/** Whether an event is about a pod of the run, or about one that is gone, of which nobody can tell. */
export function isOwnEvent(
  { podSandboxStatus }: Pick<ContainerEventResponse, 'podSandboxStatus'>,
  run: string,
): boolean {
  return podSandboxStatus === null || isOwn(podSandboxStatus.labels, run);
}

/** Whether labels are those of the run. */
export function isOwn(labels: Labels, run: string): boolean {
  return labels[RUN_LABEL] === run;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
