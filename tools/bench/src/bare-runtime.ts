import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ContainerEventType, type CriClient } from '@node-agent/cri-client';
import { type BarePod, barePod } from './bare-config.ts';
import { killContainer, removeAllPods } from './containers.ts';
import type { BareRestart, Batch } from './figures.ts';
import { COMMAND } from './manifest.ts';
import type { RuntimeSide } from './runtime-side.ts';

/** Number of runtime calls that start a pod: RunPodSandbox, CreateContainer, StartContainer. */
const CALLS_PER_POD = 3;

interface Running {
  readonly pod: BarePod;
  readonly name: string;
  readonly sandboxId: string;
  readonly containerId: string;
}

/** Runtime that is driven by a loop instead of a kubelet: the lower bound for every kubelet. */
export class BareRuntime {
  readonly #side: RuntimeSide;
  readonly #directory: string;
  readonly #command: readonly string[];

  /**
   * @param directory directory for the pods' logs and files
   * @param command command of each pod's container
   */
  constructor(side: RuntimeSide, directory: string, command: readonly string[] = COMMAND) {
    this.#side = side;
    this.#directory = directory;
    this.#command = command;
  }

  /** Starts pods with the given concurrency and leaves them running. */
  async batch(names: readonly string[], concurrency: number, signal: AbortSignal): Promise<Batch> {
    const { client } = this.#side;
    const runtimeCpu = await this.#side.cpuSeconds();
    const cpu = process.cpuUsage();
    const startMs = performance.now();
    const readyMs: number[] = [];
    const queue = [...names];
    const worker = async (): Promise<void> => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        await this.#start(client, name, signal);
        readyMs.push(performance.now() - startMs);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    const totalMs = performance.now() - startMs;
    const { user, system } = process.cpuUsage(cpu);
    return {
      readyMs,
      totalMs,
      cpuSeconds: (user + system) / 1e6,
      runtimeCpuSeconds: (await this.#side.cpuSeconds()) - runtimeCpu,
      runtimeCalls: CALLS_PER_POD * names.length,
    };
  }

  /** Starts a pod, kills its container, and starts another one as soon as the runtime reports the container's end. */
  async restart(name: string, signal: AbortSignal): Promise<BareRestart> {
    return this.#restart(await this.#start(this.#side.client, name, signal), signal);
  }

  /** Removes all pods. */
  clear(signal: AbortSignal): Promise<void> {
    return removeAllPods(this.#side.client, signal);
  }

  async #start(client: CriClient, name: string, signal: AbortSignal): Promise<Running> {
    const directory = join(this.#directory, name);
    await mkdir(directory, { recursive: true });
    await Promise.all(['hosts', 'termination-log'].map((file) => writeFile(join(directory, file), '')));
    const pod = barePod(name, directory, 0, this.#command);
    const { podSandboxId: sandboxId } = await client.runPodSandbox({ config: pod.sandbox }, signal);
    const { containerId } = await client.createContainer(
      { podSandboxId: sandboxId, config: pod.container, sandboxConfig: pod.sandbox },
      signal,
    );
    await client.startContainer({ containerId }, signal);
    return { pod, name, sandboxId, containerId };
  }

  async #restart({ pod, name, sandboxId, containerId }: Running, signal: AbortSignal): Promise<BareRestart> {
    const { client } = this.#side;
    const ended = await this.#whenEnded(containerId, signal);
    const killedMs = await killContainer(client, containerId, signal);
    await ended.ended;
    const createdMs = performance.now();
    const next = barePod(name, join(this.#directory, name), 1, this.#command);
    const { containerId: nextId } = await client.createContainer(
      { podSandboxId: sandboxId, config: next.container, sandboxConfig: pod.sandbox },
      signal,
    );
    await client.startContainer({ containerId: nextId }, signal);
    const createAndStartMs = performance.now() - createdMs;
    const [before, after] = await Promise.all(
      [containerId, nextId].map(async (id) => (await client.containerStatus({ containerId: id }, signal)).status),
    );
    const startedMs = Number(after?.startedAt ?? 0) / 1e6;
    const endedMs = Number(before?.finishedAt ?? 0) / 1e6;
    return { killToStartMs: startedMs - killedMs, endToStartMs: startedMs - endedMs, createAndStartMs };
  }

  /**
   * Starts to watch for the container's end, by runtime events if the runtime supports them, otherwise by polling.
   * Resolves when the watch is active.
   */
  async #whenEnded(id: string, signal: AbortSignal): Promise<{ readonly ended: Promise<void> }> {
    const { client, hasEvents } = this.#side;
    if (!hasEvents) return { ended: this.#pollEnd(id, signal) };
    const stream = new AbortController();
    const onAbort = (): void => stream.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const read = async (): Promise<void> => {
      try {
        for await (const event of client.getContainerEvents({}, stream.signal)) {
          if (event.containerId === id && event.containerEventType === ContainerEventType.CONTAINER_STOPPED_EVENT)
            return;
        }
        throw new Error('read container events: runtime closed the stream');
      } finally {
        signal.removeEventListener('abort', onAbort);
        stream.abort();
      }
    };
    const ended = read();
    ended.catch(() => {});
    // The runtime does not confirm a new reader of events, so this waits until the event stream is most likely open.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { ended };
  }

  async #pollEnd(containerId: string, signal: AbortSignal): Promise<void> {
    while ((await this.#side.client.containerStatus({ containerId }, signal)).status?.finishedAt === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
