import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CriClient, CriError } from '@node-agent/cri-client';
import { Containerd, type ContainerdBinaries } from '@node-agent/tools-containerd';
import { makePodsGroup } from './pods-group.ts';
import { readUsage } from './proc.ts';

/**
 * Private containerd for one side of the comparison, and a cgroup for its pods. The sides share nothing, because a
 * kubelet removes pods that it does not know. Running only one kubelet at a time is no alternative, because each
 * restart would be measured with cold caches.
 */
export class RuntimeSide {
  readonly #containerd: Containerd;
  readonly client: CriClient;
  /** Whether the runtime supports container events; containerd 1.6 does not. */
  readonly hasEvents: boolean;
  /** Cgroup for the pods of this side only; the value of `cgroupRoot` for the side's kubelet. */
  readonly cgroupRoot: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    containerd: Containerd,
    client: CriClient,
    hasEvents: boolean,
    cgroupRoot: string,
    stack: AsyncDisposableStack,
  ) {
    this.#containerd = containerd;
    this.client = client;
    this.hasEvents = hasEvents;
    this.cgroupRoot = cgroupRoot;
    this.#stack = stack;
  }

  /**
   * Starts a runtime. {@link stop} removes everything that it created; if the start fails, the same happens
   * automatically.
   */
  static async start(binaries: ContainerdBinaries, directory: string, subnet: string): Promise<RuntimeSide> {
    await mkdir(directory, { recursive: true });
    const containerd = new Containerd({ binaries, directory: join(directory, 'c'), subnet });
    await using stack = new AsyncDisposableStack();
    // The cgroup is removed last and kills the processes that the runtime left.
    const cgroupRoot = await makePodsGroup(stack);
    stack.defer(() => containerd.stop());
    await containerd.start();
    const client = stack.use(new CriClient({}, { endpoint: containerd.endpoint }));
    return new RuntimeSide(containerd, client, await hasEvents(client), cgroupRoot, stack.move());
  }

  get endpoint(): string {
    return this.#containerd.endpoint;
  }

  /** Imports an image archive into the namespace of pods. */
  async importImage(archive: string, tag: string): Promise<void> {
    await this.#containerd.importImage(archive, tag);
  }

  /** Returns the CPU seconds of the runtime so far, including its plugins. */
  async cpuSeconds(): Promise<number> {
    const { pid } = this.#containerd;
    return pid === undefined ? 0 : (await readUsage(pid)).cpuWithChildrenSeconds;
  }

  /** Stops the runtime and removes everything that it created, even if a step fails. */
  async stop(): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/**
 * Reports whether the runtime supports container events. A runtime without events rejects the call immediately; a
 * runtime with events sends nothing until there is one.
 */
async function hasEvents(client: CriClient): Promise<boolean> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new DOMException('it listens', 'AbortError')), 500);
  try {
    for await (const _event of client.getContainerEvents({}, stop.signal)) return true;
    return false;
  } catch (error) {
    return CriError.from(error).code !== 'UNIMPLEMENTED';
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}
