import { ContainerState, type CriClient, CriError } from '@node-agent/cri-client';
import { until } from './waiting.ts';

/**
 * Kills the first process of a container, as a crash would.
 * @returns the wall clock time in ms before the kill
 */
export async function killContainer(client: CriClient, containerId: string, signal: AbortSignal): Promise<number> {
  const { info } = await client.containerStatus({ containerId, verbose: true }, signal);
  const { pid } = JSON.parse(info.info ?? '{}') as { readonly pid?: number };
  if (typeof pid !== 'number' || pid <= 1)
    throw new Error(`kill container ${containerId}: runtime does not report its process`);
  // `performance` has a finer resolution than `Date.now()`.
  const nowMs = performance.timeOrigin + performance.now();
  process.kill(pid, 'SIGKILL');
  return nowMs;
}

/** Returns the IDs of the running containers by the names of their pods. */
export async function runningContainers(client: CriClient, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const { containers } = await client.listContainers(
    { filter: { state: { state: ContainerState.CONTAINER_RUNNING } } },
    signal,
  );
  return new Map(containers.map(({ id, labels }) => [labels['io.kubernetes.pod.name'] ?? '', id]));
}

/** Removes a pod sandbox. @returns whether the sandbox was removed */
async function removePod(client: CriClient, podSandboxId: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.stopPodSandbox({ podSandboxId }, signal);
    await client.removePodSandbox({ podSandboxId }, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    return CriError.from(error).code === 'NOT_FOUND';
  }
}

/** Number of pods that are removed concurrently. */
const REMOVALS = 4;

/** Removes all pods of a runtime, including running ones. */
export async function removeAllPods(client: CriClient, signal: AbortSignal): Promise<void> {
  const { items } = await client.listPodSandbox({}, signal);
  const queue = items.map(({ id }) => id);
  const worker = async (): Promise<void> => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      // A kubelet may be removing the same sandbox concurrently, and the runtime rejects the second request; so the
      // removal is repeated.
      await until(`pod sandbox ${id} is removed`, () => removePod(client, id, signal), signal, { timeoutMs: 20_000 });
    }
  };
  await Promise.all(Array.from({ length: REMOVALS }, worker));
}
