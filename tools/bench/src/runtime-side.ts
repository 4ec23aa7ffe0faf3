import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CriClient, CriError } from '@node-agent/cri-client';
import { Containerd, type ContainerdBinaries } from '@node-agent/tools-containerd';
import { makePodsGroup } from './pods-group.ts';
import { readUsage } from './proc.ts';

/**
 * A private containerd for one side of the comparison, and a group for the groups of its pods. Each side has its own: a kubelet would remove the pods that it
 * does not know, and one that is stopped meanwhile would be measured cold.
 */
export class RuntimeSide {
  readonly #containerd: Containerd;
  readonly client: CriClient;
  /** Whether the runtime tells what happens; containerd 1.6 does not. */
  readonly hasEvents: boolean;
  /** The `cgroupRoot` of its kubelet: nobody else has groups in it. */
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

  /** Starts one. What it made is taken away by {@link stop}, and where this throws, by itself. */
  static async start(binaries: ContainerdBinaries, directory: string, subnet: string): Promise<RuntimeSide> {
    await mkdir(directory, { recursive: true });
    const containerd = new Containerd({ binaries, directory: join(directory, 'c'), subnet });
    await using stack = new AsyncDisposableStack();
    // The last thing that goes: what the runtime has not ended is ended with it.
    const cgroupRoot = await makePodsGroup(stack);
    stack.defer(() => containerd.stop());
    await containerd.start();
    const client = stack.use(new CriClient({}, { endpoint: containerd.endpoint }));
    return new RuntimeSide(containerd, client, await hasEvents(client), cgroupRoot, stack.move());
  }

  get endpoint(): string {
    return this.#containerd.endpoint;
  }

  /** Imports an image archive for pods. */
  async importImage(archive: string, tag: string): Promise<void> {
    await this.#containerd.importImage(archive, tag);
  }

  /** What the runtime has used so far, its plugins included. */
  async cpuSeconds(): Promise<number> {
    const { pid } = this.#containerd;
    return pid === undefined ? 0 : (await readUsage(pid)).cpuWithChildrenSeconds;
  }

  /** Ends it and takes away what it made, all of it though some of that fails. */
  async stop(): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** A runtime that has no events says so at once; one that has them says nothing until there is one. */
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
