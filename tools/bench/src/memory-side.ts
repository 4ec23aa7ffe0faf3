import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CriClient } from '@node-agent/cri-client';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { makePodsGroup } from './pods-group.ts';
import { spawnProgram } from './spawn-program.ts';

/** Path of the built runtime in memory. */
const FAKE_CRI = fileURLToPath(new URL('../../../packages/fake-cri/dist/bin.js', import.meta.url));

/** Runtime in memory, in its own process, for one side of the comparison. With it, only the kubelet is measured. */
export class MemorySide {
  readonly endpoint: string;
  readonly client: CriClient;
  readonly cgroupRoot: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(endpoint: string, client: CriClient, cgroupRoot: string, stack: AsyncDisposableStack) {
    this.endpoint = endpoint;
    this.client = client;
    this.cgroupRoot = cgroupRoot;
    this.#stack = stack;
  }

  /**
   * Starts the runtime. {@link stop} removes everything that it created; if the start fails, the same happens
   * automatically.
   */
  static async start(directory: string): Promise<MemorySide> {
    await using stack = new AsyncDisposableStack();
    const cgroupRoot = await makePodsGroup(stack);
    const endpoint = `unix://${join(directory, 'cri.sock')}`;
    // The first line of output means that the runtime is listening.
    const first = await spawnProgram(stack, FAKE_CRI, ['--listen', endpoint, '--image', PAUSE_IMAGE]);
    if (first === undefined) throw new Error('runtime in memory exited');
    const client = stack.use(new CriClient({}, { endpoint }));
    return new MemorySide(endpoint, client, cgroupRoot, stack.move());
  }

  async stop(): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
