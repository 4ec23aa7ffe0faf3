import type { FileSystem } from '@node-agent/host';
import type { ListedInterfaces } from './default-ip.ts';
import { localAddresses, withLocalAddresses } from './local-addresses.ts';

/** The kernel's lists of the addresses in this network namespace. */
const ADDRESS_TABLES = ['/proc/net/fib_trie', '/proc/net/if_inet6'];

/**
 * Lists the host's interfaces, including those without a link. The list is refreshed only if the kernel's address
 * tables changed: each pod has an interface, and listing a hundred interfaces takes many times as long as reading the
 * tables.
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
    // If the tables are empty or unreadable, the interfaces are listed at each call.
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
      // A kernel without IPv6 has only one of the files. Without both files, only Node.js' list of interfaces is used.
      return '';
    }
  }
}
