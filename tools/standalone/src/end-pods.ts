import type { CriClient, PodSandbox } from '@node-agent/cri-client';

const GRACE_PERIOD = 'io.kubernetes.pod.terminationGracePeriod';
/** A pod's own default (`terminationGracePeriodSeconds`). */
const DEFAULT_GRACE_SECONDS = 30;

/** A pod that is being ended. */
export interface EndingPod {
  readonly name: string;
  /** The longest of its containers. */
  readonly graceSeconds: number;
}

/** Takes in which pods are still being ended: all at first, then fewer. */
export type EndProgress = (left: readonly EndingPod[]) => void;

/**
 * Ends and removes the pods that a kubelet, which has ended itself, left in a runtime: each container gets its stop
 * signal and its pod's grace period.
 * @param hurry aborted where the rest is to be killed
 * @returns how many pods there were
 */
export async function endPods(
  client: CriClient,
  isOurs: (sandbox: PodSandbox) => boolean,
  hurry: AbortSignal,
  progress: EndProgress = () => {},
): Promise<number> {
  const { items } = await client.listPodSandbox({});
  const sandboxes = items.filter(isOurs);
  const { containers } = await client.listContainers({});
  const left = new Map(
    sandboxes.map(({ id, metadata }): [string, EndingPod] => {
      const graces = containers
        .filter(({ podSandboxId }) => podSandboxId === id)
        .map(({ annotations }) => graceSeconds(annotations));
      const name = metadata === null ? id : podName(metadata.namespace, metadata.name);
      return [id, { name, graceSeconds: Math.max(0, ...graces) }];
    }),
  );
  progress([...left.values()]);
  await Promise.all(
    sandboxes.map(async ({ id }) => {
      const own = containers.filter(({ podSandboxId }) => podSandboxId === id);
      await Promise.all(
        own.map(async (container) => {
          const timeout = graceSeconds(container.annotations);
          // Whatever goes wrong here: the sandbox's end kills what is left.
          await client.stopContainer({ containerId: container.id, timeout }, hurry).catch(() => {});
        }),
      );
      await client.stopPodSandbox({ podSandboxId: id });
      await client.removePodSandbox({ podSandboxId: id });
      left.delete(id);
      progress([...left.values()]);
    }),
  );
  return sandboxes.length;
}

/** With its namespace, but for the usual one. */
function podName(namespace: string, name: string): string {
  return namespace === 'default' ? name : `${namespace}/${name}`;
}

/** The grace period that a container's annotations carry, as its kubelet wrote it. */
export function graceSeconds(annotations: Readonly<Record<string, string>>): number {
  const text = annotations[GRACE_PERIOD];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : DEFAULT_GRACE_SECONDS;
}
