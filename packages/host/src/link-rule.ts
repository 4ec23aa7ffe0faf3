/** As many links as the kernel follows. */
export const MAX_LINKS = 40;

/** One name of a path that is walked. */
export interface PathName {
  readonly name: string;
  /** Whether a link said it, not the path itself. */
  readonly ofLink: boolean;
}

/** Where a link leads on to, or why it is not followed. */
export type Followed =
  | { readonly fromRoot: boolean; readonly names: readonly PathName[] }
  | { readonly code: string; readonly detail?: string };

/**
 * How links are taken on a walk beneath a directory: `refuse` follows none; `within` takes the directory as the root of all
 * paths, as in a chroot; `beneath` follows what stays in the directory, an absolute path where it names the directory first.
 */
export class LinkRule {
  readonly #links: 'refuse' | 'within' | 'beneath';
  readonly #realDirectory: () => Promise<string>;
  #count = 0;

  /** @param realDirectory the directory's own path, without links */
  constructor(links: 'refuse' | 'within' | 'beneath', realDirectory: () => Promise<string>) {
    this.#links = links;
    this.#realDirectory = realDirectory;
  }

  /** Where `..` leads. */
  parent(atRoot: boolean): 'up' | 'stay' | 'out' {
    if (this.#links === 'refuse') return 'out';
    if (!atRoot) return 'up';
    // As in a chroot: the root is its own parent.
    return this.#links === 'within' ? 'stay' : 'out';
  }

  async follow(target: string): Promise<Followed> {
    if (this.#links === 'refuse') return { code: 'ELOOP', detail: 'a link on the way is not followed' };
    if (++this.#count > MAX_LINKS) return { code: 'ELOOP' };
    if (!target.startsWith('/')) return { fromRoot: false, names: pathNames(target, true) };
    if (this.#links === 'within') return { fromRoot: true, names: pathNames(target, true) };
    const real = await this.#realDirectory();
    const root = real === '/' ? '' : real;
    if (target !== real && !target.startsWith(`${root}/`)) {
      return { code: 'EXDEV', detail: 'it leads out of its directory' };
    }
    return { fromRoot: true, names: pathNames(target.slice(root.length), true) };
  }
}

/** Names of a path, the last one first. */
export function pathNames(path: string, ofLink: boolean): PathName[] {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .map((name) => ({ name, ofLink }))
    .reverse();
}
