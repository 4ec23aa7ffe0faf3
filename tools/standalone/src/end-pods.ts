import type { CriClient, PodSandbox } from '@node-agent/cri-client';

const GRACE_PERIOD = 'io.kubernetes.pod.terminationGracePeriod';
/** Default grace period of a pod (`terminationGracePeriodSeconds`). */
const DEFAULT_GRACE_SECONDS = 30;

/** Pod that is being stopped. */
export interface EndingPod {
  readonly name: string;
  /** Longest grace period of the pod's containers. */
  readonly graceSeconds: number;
}

/** Called with the pods that are still being stopped: first with all, then after each pod that was removed. */
export type EndProgress = (left: readonly EndingPod[]) => void;

/**
 * Stops and removes the pods that a stopped kubelet left in a runtime. Each container gets its stop signal and its
 * pod's grace period.
 * @param hurry aborted when the remaining containers must be killed immediately
 * @returns the number of pods
 * @throws the first pod's error if pods could not be stopped or removed, after all others were removed
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
  const results = await Promise.allSettled(
    sandboxes.map(async ({ id }) => {
      const own = containers.filter(({ podSandboxId }) => podSandboxId === id);
      await Promise.all(
        own.map(async (container) => {
          const timeout = graceSeconds(container.annotations);
          // An error is ignored: stopping the sandbox kills the containers that are left.
          await client.stopContainer({ containerId: container.id, timeout }, hurry).catch(() => {});
        }),
      );
      await client.stopPodSandbox({ podSandboxId: id });
      await client.removePodSandbox({ podSandboxId: id });
      left.delete(id);
      progress([...left.values()]);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return sandboxes.length;
}

/** Returns the pod's name, prefixed with its namespace unless that is `default`. */
function podName(namespace: string, name: string): string {
  return namespace === 'default' ? name : `${namespace}/${name}`;
}

/** Returns the grace period from a container's annotations, where the kubelet wrote it. Default: 30 seconds. */
export function graceSeconds(annotations: Readonly<Record<string, string>>): number {
  const text = annotations[GRACE_PERIOD];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : DEFAULT_GRACE_SECONDS;
}
