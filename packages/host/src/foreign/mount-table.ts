import { textOfBytes } from '../byte-names.ts';

/** A line of `/proc/self/mountinfo` (proc(5)), as far as places are told by it. @see parseMounts */
export interface Mount {
  readonly id: string;
  /** The mount that it is mounted on. */
  readonly parentId: string;
  /** Where, as an absolute path without links. */
  readonly point: string;
  /** `ext4`, `nfs4`, `fuse.sshfs`. */
  readonly type: string;
  /** Whether what is mounted below shows where it is mounted too (mount_namespaces(7)). */
  readonly isShared: boolean;
}

/** The text of `/proc/self/mountinfo`, read as Latin 1. Lines that make no sense are passed over. */
export function parseMounts(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ', 2);
    const [id, parentId, , , point, , ...optional] = before.split(' ');
    const [type] = after.split(' ');
    if (!id || !parentId || !point || !type) return [];
    // The kernel writes blanks and backslashes of paths in octal.
    const bytes = point.replace(/\\([0-7]{3})/g, (_all, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const isShared = optional.some((field) => field.startsWith('shared:'));
    return [{ id, parentId, point: textOfBytes(Buffer.from(bytes, 'latin1')), type, isShared }];
  });
}

/** What is mounted where, at one instant. */
export class MountTable {
  /** The mount points, hidden ones too. */
  readonly points: readonly string[];
  /** The types of what is mounted, by mount point; of several on one point, the topmost. */
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
      // The parent of the root is not to be seen from below it, or is itself.
      if (parentId !== id && ids.has(parentId)) {
        const children = this.#children.get(parentId);
        if (children === undefined) this.#children.set(parentId, [mount]);
        else children.push(mount);
      } else if (point === '/') roots.push(mount);
    }
    if (roots.length === 1) this.#root = roots[0];
  }

  /**
   * The mount that a path without links is in: from the root on, always the one that is met first, so that what another has
   * been mounted over counts no more. `undefined` where the table does not tell.
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

/** A {@link MountTable}, as far as it is asked. */
export type Mounts = Pick<MountTable, 'of' | 'points' | 'types'>;

/** Makes the table of a text, and keeps the last: one of thousands takes long to make, and changes seldom. */
export class NewestMountTable {
  #newest: { readonly text: string; readonly table: Mounts } | undefined;

  /** @returns the same table as before where the text is the same: then the same is mounted at the same places */
  of(text: string): Mounts {
    if (this.#newest?.text !== text) this.#newest = { text, table: new MountTable(parseMounts(text)) };
    return this.#newest.table;
  }
}
