import { ContainerState, type CriClient } from '@node-agent/cri-client';

/**
 * Kills the first process of a container, as a crash would.
 * @returns the wall clock before it, in milliseconds
 */
export async function killContainer(client: CriClient, containerId: string, signal: AbortSignal): Promise<number> {
  const { info } = await client.containerStatus({ containerId, verbose: true }, signal);
  const { pid } = JSON.parse(info.info ?? '{}') as { readonly pid?: number };
  if (typeof pid !== 'number' || pid <= 1) throw new Error(`the runtime does not tell the process of ${containerId}`);
  // Finer than Date.now().
  const nowMs = performance.timeOrigin + performance.now();
  process.kill(pid, 'SIGKILL');
  return nowMs;
}

/** The running containers, by the names of their pods. */
export async function runningContainers(client: CriClient, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const { containers } = await client.listContainers(
    { filter: { state: { state: ContainerState.CONTAINER_RUNNING } } },
    signal,
  );
  return new Map(containers.map(({ id, labels }) => [labels['io.kubernetes.pod.name'] ?? '', id]));
}

/** How many pods are removed at once. */
const REMOVALS = 4;

/** Removes every pod of a runtime, whatever runs in it. */
export async function removeAllPods(client: CriClient, signal: AbortSignal): Promise<void> {
  const { items } = await client.listPodSandbox({}, signal);
  const queue = items.map(({ id }) => id);
  const worker = async (): Promise<void> => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      await client.stopPodSandbox({ podSandboxId: id }, signal);
      await client.removePodSandbox({ podSandboxId: id }, signal);
    }
  };
  await Promise.all(Array.from({ length: REMOVALS }, worker));
}
