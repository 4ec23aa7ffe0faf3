import { killContainer, removeAllPods, runningContainers } from './containers.ts';
import type { Batch, Restart } from './figures.ts';
import type { Kubelet } from './kubelet.ts';
import type { RuntimeSide } from './runtime-side.ts';
import { until } from './waiting.ts';

/** Performs the same work as {@link BareRuntime} with a kubelet that reads manifests. */
export class KubeletRuns {
  readonly #side: RuntimeSide;
  readonly #kubelet: Kubelet;

  constructor(side: RuntimeSide, kubelet: Kubelet) {
    this.#side = side;
    this.#kubelet = kubelet;
  }

  /** Starts pods through manifests and leaves them running. */
  async batch(names: readonly string[], signal: AbortSignal): Promise<Batch> {
    const runtimeCpu = await this.#side.cpuSeconds();
    const calls = await this.#kubelet.runtimeCalls();
    const { cpuSeconds } = await this.#kubelet.usage();
    const startMs = await this.#kubelet.addPods(names);
    const readyMs = (await this.#kubelet.ready(names, signal)).map((atMs) => atMs - startMs);
    const used = (await this.#kubelet.usage()).cpuSeconds - cpuSeconds;
    return {
      readyMs,
      totalMs: Math.max(...readyMs),
      cpuSeconds: used,
      runtimeCpuSeconds: (await this.#side.cpuSeconds()) - runtimeCpu,
      runtimeCalls: (await this.#kubelet.runtimeCalls()) - calls,
    };
  }

  /**
   * Removes the manifests, waits until the pods have ended, and removes their sandboxes and containers from the
   * runtime.
   */
  async clear(names: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#kubelet.removePods(names);
    const { client } = this.#side;
    await until('no container runs', async () => (await runningContainers(client, signal)).size === 0, signal, {
      everyMs: 200,
    });
    await until(
      'no sandbox is ready',
      async () => (await client.listPodSandbox({}, signal)).items.every(({ state }) => state !== 0),
      signal,
      { everyMs: 200 },
    );
    await removeAllPods(client, signal);
  }

  /** Kills the container of a running pod and waits for the container that the kubelet starts instead. */
  async restart(name: string, signal: AbortSignal): Promise<Restart> {
    const { client } = this.#side;
    const current = async (): Promise<string | undefined> => {
      for (const [pod, id] of await runningContainers(client, signal)) if (pod.startsWith(`${name}-`)) return id;
      return undefined;
    };
    const id = await current();
    if (id === undefined) throw new Error(`restart pod ${name}: pod is not running`);
    const killedMs = await killContainer(client, id, signal);
    let nextId: string | undefined;
    await until(
      `${name} runs again`,
      async () => {
        nextId = await current();
        return nextId !== undefined && nextId !== id;
      },
      signal,
      { everyMs: 100 },
    );
    const [before, after] = await Promise.all(
      [id, nextId ?? id].map(async (containerId) => (await client.containerStatus({ containerId }, signal)).status),
    );
    const startedMs = Number(after?.startedAt ?? 0) / 1e6;
    return { killToStartMs: startedMs - killedMs, endToStartMs: startedMs - Number(before?.finishedAt ?? 0) / 1e6 };
  }
}
