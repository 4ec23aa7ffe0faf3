import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Reads the address of the page about the node, which the kubelet writes when it listens. Each run has a new address. */
export class PageAddress {
  readonly #file: string;
  #last = '';

  constructor(kubeletRoot: string) {
    this.#file = join(kubeletRoot, 'dashboard-url');
  }

  /**
   * Returns the address if it has changed since the last call; `undefined` if the address is unchanged or not known
   * yet.
   */
  async next(): Promise<string | undefined> {
    const address = (await readFile(this.#file, 'utf8').catch(() => '')).trim();
    if (address === '' || address === this.#last) return undefined;
    this.#last = address;
    return address;
  }
}
