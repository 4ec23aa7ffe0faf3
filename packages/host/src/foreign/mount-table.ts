import { textOfBytes } from '../byte-names.ts';

/** A line of `/proc/self/mountinfo` (proc(5)), reduced to the fields used here. @see parseMounts */
export interface Mount {
  readonly id: string;
  /** ID of the parent mount. */
  readonly parentId: string;
  /** Mount point, as an absolute path without symlinks. */
  readonly point: string;
  /** File system type: `ext4`, `nfs4`, `fuse.sshfs`. */
  readonly type: string;
  /** Whether mounts propagate to the peers of this mount (mount_namespaces(7)). */
  readonly isShared: boolean;
  /** Whether files on this mount can have SELinux labels of their own (mount option `seclabel`). Default: false. */
  readonly takesLabels?: boolean;
}

/** Parses the text of `/proc/self/mountinfo`, read as Latin 1. Malformed lines are skipped. */
export function parseMounts(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ', 2);
    const [id, parentId, , , point, options = '', ...optional] = before.split(' ');
    const [type, , superOptions = ''] = after.split(' ');
    if (!id || !parentId || !point || !type) return [];
    // The kernel escapes blanks and backslashes of paths in octal.
    const bytes = point.replace(/\\([0-7]{3})/g, (_all, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const isShared = optional.some((field) => field.startsWith('shared:'));
    const takesLabels = [...options.split(','), ...superOptions.split(',')].includes('seclabel');
    return [
      {
        id,
        parentId,
        point: textOfBytes(Buffer.from(bytes, 'latin1')),
        type,
        isShared,
        ...(takesLabels && { takesLabels }),
      },
    ];
  });
}

/** The machine's mounts at one time. */
export class MountTable {
  /** All mount points, including hidden ones. */
  readonly points: readonly string[];
  /**
   * File system types by mount point. If several mounts are stacked on one mount point, the value is the type of the
   * topmost mount.
   */
  readonly types: ReadonlyMap<string, string>;
  readonly #root: Mount | undefined;
  readonly #children = new Map<string, Mount[]>();

  constructor(mounts: readonly Mount[]) {
    this.points = mounts.map(({ point }) => point);
    this.types = new Map(mounts.map(({ point, type }) => [point, type]));
    const ids = new Set(mounts.map(({ id }) => id));
    const roots: Mount[] = [];
    for (const mount of mounts) {
      const { id, parentId, point } = mount;
      // The parent of the root mount is not visible from below, or is the root itself.
      if (parentId !== id && ids.has(parentId)) {
        const children = this.#children.get(parentId);
        if (children === undefined) this.#children.set(parentId, [mount]);
        else children.push(mount);
      } else if (point === '/') roots.push(mount);
    }
    if (roots.length === 1) this.#root = roots[0];
  }

  /**
   * Returns the mount that contains a path without symlinks. The search starts at the root and always follows the first
   * matching mount, so that mounts hidden below another mount are ignored. Returns `undefined` if the table does not
   * contain the mount.
   */
  of(path: string): Mount | undefined {
    let found = this.#root;
    for (let next = found; next !== undefined; ) {
      found = next;
      next = undefined;
      for (const mount of this.#children.get(found.id) ?? []) {
        const { point } = mount;
        const isOnTheWay = point === '/' || path === point || path.startsWith(`${point}/`);
        if (isOnTheWay && (next === undefined || point.length < next.point.length)) next = mount;
      }
    }
    return found;
  }
}

/** The members of {@link MountTable} that callers use. */
export type Mounts = Pick<MountTable, 'of' | 'points' | 'types'>;

/**
 * Parses mount tables and keeps the last one, because a table of thousands of mounts takes long to parse and seldom
 * changes.
 */
export class NewestMountTable {
  #newest: { readonly text: string; readonly table: Mounts } | undefined;

  /** Returns the mount table for a text; the previous table if the text is unchanged. */
  of(text: string): Mounts {
    if (this.#newest?.text !== text) this.#newest = { text, table: new MountTable(parseMounts(text)) };
    return this.#newest.table;
  }
}
