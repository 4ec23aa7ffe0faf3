/** Maximum number of symlinks that the kernel follows in one path. */
export const MAX_LINKS = 40;

/** One name of a path. */
export interface PathName {
  readonly name: string;
  /** Whether the name comes from a symlink's target instead of the path itself. */
  readonly ofLink: boolean;
}

/** Continuation of the walk after a symlink, or the reason why the symlink is not followed. */
export type Followed =
  | { readonly fromRoot: boolean; readonly names: readonly PathName[] }
  | { readonly code: string; readonly detail?: string };

/**
 * Treatment of symlinks on a walk beneath a directory. `refuse` follows no symlink. `within` uses the directory as the
 * root of all paths, as in a chroot. `beneath` follows symlinks that stay in the directory, and absolute ones only if
 * they start with the directory's path.
 */
export class LinkRule {
  readonly #links: 'refuse' | 'within' | 'beneath';
  readonly #realDirectory: () => Promise<string>;
  #count = 0;

  /** @param realDirectory returns the directory's path without symlinks */
  constructor(links: 'refuse' | 'within' | 'beneath', realDirectory: () => Promise<string>) {
    this.#links = links;
    this.#realDirectory = realDirectory;
  }

  /** Returns how to treat `..`. */
  parent(atRoot: boolean): 'up' | 'stay' | 'out' {
    if (this.#links === 'refuse') return 'out';
    if (!atRoot) return 'up';
    // As in a chroot, the root is its own parent.
    return this.#links === 'within' ? 'stay' : 'out';
  }

  async follow(target: string): Promise<Followed> {
    if (this.#links === 'refuse') return { code: 'ELOOP', detail: 'a symlink in the path is not followed' };
    if (++this.#count > MAX_LINKS) return { code: 'ELOOP' };
    if (!target.startsWith('/')) return { fromRoot: false, names: pathNames(target, true) };
    if (this.#links === 'within') return { fromRoot: true, names: pathNames(target, true) };
    const real = await this.#realDirectory();
    const root = real === '/' ? '' : real;
    if (target !== real && !target.startsWith(`${root}/`)) {
      return { code: 'EXDEV', detail: 'the path leads out of its directory' };
    }
    return { fromRoot: true, names: pathNames(target.slice(root.length), true) };
  }
}

/** Splits a path into its names, last one first. */
export function pathNames(path: string, ofLink: boolean): PathName[] {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .map((name) => ({ name, ofLink }))
    .reverse();
}
