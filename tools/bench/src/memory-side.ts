import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { makePodsGroup } from './pods-group.ts';

/** The runtime in memory, as the build leaves it. */
const FAKE_CRI = fileURLToPath(new URL('../../../packages/fake-cri/dist/bin.js', import.meta.url));

/** A runtime in memory, in a process of its own, for one side of the comparison: what is left to be measured is the kubelet alone. */
export class MemorySide {
  readonly endpoint: string;
  readonly cgroupRoot: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(endpoint: string, cgroupRoot: string, stack: AsyncDisposableStack) {
    this.endpoint = endpoint;
    this.cgroupRoot = cgroupRoot;
    this.#stack = stack;
  }

  /** Starts one. What it made is taken away by {@link stop}, and where this throws, by itself. */
  static async start(directory: string): Promise<MemorySide> {
    await using stack = new AsyncDisposableStack();
    const cgroupRoot = await makePodsGroup(stack);
    const endpoint = `unix://${join(directory, 'cri.sock')}`;
    const child = spawn(process.execPath, [FAKE_CRI, '--listen', endpoint, '--image', PAUSE_IMAGE], {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    const ended = once(child, 'exit');
    stack.defer(async () => {
      child.kill();
      await ended;
    });
    // Its first line: it listens.
    const first = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => undefined)]);
    if (first === undefined) throw new Error('the runtime in memory has ended');
    return new MemorySide(endpoint, cgroupRoot, stack.move());
  }

  async stop(): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
