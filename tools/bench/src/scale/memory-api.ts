import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchApi } from '../bench-node.ts';
import { spawnProgram } from '../spawn-program.ts';

/** Path of the built API server in memory. */
const FAKE_API_SERVER = fileURLToPath(new URL('../../../../packages/fake-apiserver/dist/bin.js', import.meta.url));

/** API server in memory, in its own process, so that its CPU time is not counted for the measured processes. */
export class MemoryApi implements BenchApi, AsyncDisposable {
  readonly adminKubeconfig: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(adminKubeconfig: string, stack: AsyncDisposableStack) {
    this.adminKubeconfig = adminKubeconfig;
    this.#stack = stack;
  }

  /** Starts the server. @param directory directory for its kubeconfig */
  static async start(directory: string): Promise<MemoryApi> {
    await using stack = new AsyncDisposableStack();
    const first = await spawnProgram(stack, FAKE_API_SERVER, ['--port', '0']);
    const url = /http:\S+/.exec(first ?? '')?.[0];
    if (url === undefined) throw new Error('API server in memory exited');
    const kubeconfig = join(directory, 'memory.kubeconfig');
    await writeFile(kubeconfig, kubeconfigOf(url));
    return new MemoryApi(kubeconfig, stack.move());
  }

  /** Returns one kubeconfig for every node, because the server does not authenticate users. */
  async nodeKubeconfig(): Promise<string> {
    return this.adminKubeconfig;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Returns a kubeconfig for a server without authentication. */
export function kubeconfigOf(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'memory', cluster: { server } }],
    users: [{ name: 'node', user: {} }],
    contexts: [{ name: 'default', context: { cluster: 'memory', user: 'node' } }],
    'current-context': 'default',
  });
}
