import type { FileSystem } from '@node-agent/host';
import type { ListedInterfaces } from './default-ip.ts';
import { localAddresses, withLocalAddresses } from './local-addresses.ts';

/** The kernel's own lists of the addresses of this network namespace. */
const ADDRESS_TABLES = ['/proc/net/fib_trie', '/proc/net/if_inet6'];

/**
 * The host's interfaces, those without a link too, listed anew only where the kernel's tables of addresses changed: on a node each pod has an interface,
 * and to list a hundred of them takes many times as long as to read the tables.
 */
export class InterfaceList {
  readonly #fs: Pick<FileSystem, 'readFile'>;
  readonly #networkInterfaces: () => ListedInterfaces;
  #known: { readonly tables: string; readonly list: ListedInterfaces } | undefined;

  constructor(components: {
    readonly fs: Pick<FileSystem, 'readFile'>;
    /** `os.networkInterfaces`. */
    readonly networkInterfaces: () => ListedInterfaces;
  }) {
    this.#fs = components.fs;
    this.#networkInterfaces = components.networkInterfaces;
  }

  async read(): Promise<ListedInterfaces> {
    const tables = await Promise.all(ADDRESS_TABLES.map((path) => this.#text(path)));
    const text = tables.join('\n');
    // A machine that does not tell its addresses is asked each time.
    if (text.trim() === '' || this.#known?.tables !== text) {
      const [fibTrie = '', ifInet6 = ''] = tables;
      const list = withLocalAddresses(this.#networkInterfaces(), localAddresses(fibTrie, ifInet6));
      this.#known = { tables: text, list };
    }
    return this.#known.list;
  }

  async #text(path: string): Promise<string> {
    try {
      return new TextDecoder().decode(await this.#fs.readFile(path));
    } catch {
      // A kernel without IPv6 has only one of them; without any the list itself is the answer.
      return '';
    }
  }
}
