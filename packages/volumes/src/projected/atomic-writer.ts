import { join } from 'node:path';
import type { Clock, Random } from '@node-agent/async';
import { type DirectoryEntry, type FileSystem, isMissing } from '@node-agent/host';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { cleanPayload, firstName, type Payload, type ProjectedFile } from './payload.ts';

/** What `AtomicWriter` works with. */
export interface AtomicWriterComponents {
  readonly fs: Pick<
    FileSystem,
    | 'readFile'
    | 'writeFile'
    | 'mkdir'
    | 'readdir'
    | 'stat'
    | 'chmod'
    | 'chown'
    | 'rename'
    | 'symlink'
    | 'readlink'
    | 'remove'
    | 'removeAll'
  >;
  readonly clock?: Pick<Clock, 'now' | 'monotonic'>;
  readonly random?: Random;
}

/** The link to the directory of data that counts. */
export const DATA = '..data';
const NEW_DATA = '..data_tmp';
/** A directory of data, whoever made it: `..2006_01_02_15_04_05.` and digits. */
const DATA_DIRECTORY = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/;

/**
 * Replaces the files of a volume all at once (`pkg/volume/util/atomic_writer.go`; the layout is upstream's, so that
 * either kubelet goes on from the other's): files are links through `..data`, itself a link to a directory that was
 * written in full before the link was renamed over the last one. A reader that opens the directory behind `..data` sees
 * one set of files; a kill between any two steps leaves the old set or the new one, and the next write ends the rest. Links of
 * new files are made before the rename, which upstream does after it, for the sake of Windows.
 */
export class AtomicWriter {
  readonly #components: WithDefaults<AtomicWriterComponents>;

  constructor(components: AtomicWriterComponents) {
    this.#components = withDefaults(components);
  }

  /**
   * Makes the volume at `target`, a directory that is there, hold these files and no others. The same files once more
   * write nothing.
   * @param groupId the group that all of it is to belong to and that may read it (`fsGroup`); none where absent
   * @returns whether files were written
   * @throws VolumeError `InvalidPath`, before anything is touched
   */
  async write(target: string, files: Payload, groupId?: number): Promise<boolean> {
    const payload = cleanPayload(files);
    const entries = await this.#components.fs.readdir(target);
    const names = new Set(entries.map(({ name }) => name));
    const current = names.has(DATA) ? await this.#currentDirectory(target) : undefined;
    const changed = current === undefined || !(await this.#holds(join(target, current), payload, groupId));
    const wanted = changed ? await this.#replace(target, payload, groupId, names) : current;
    // Left by a process that was killed, or removed by somebody else.
    if (!changed) await this.#show(target, payload, names, []);
    // The link that a replacement is made through has become the one that counts.
    const left = changed ? entries.filter(({ name }) => name !== NEW_DATA) : entries;
    await this.#tidy(target, payload, wanted, left);
    return changed;
  }

  async #currentDirectory(target: string): Promise<string | undefined> {
    try {
      const name = await this.#components.fs.readlink(join(target, DATA));
      // A link that leads anywhere else is not this writer's: it is replaced, and nothing behind it is touched (W3).
      return DATA_DIRECTORY.test(name) ? name : undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Whether a directory has exactly these files, as they are to be. */
  async #holds(directory: string, payload: Payload, groupId: number | undefined): Promise<boolean> {
    const { fs } = this.#components;
    try {
      const paths = await this.#filesBelow(directory, '');
      if (paths.length !== payload.size) return false;
      for (const path of paths) {
        const file = payload.get(path);
        if (file === undefined) return false;
        const { kind, mode, uid, gid } = await fs.stat(join(directory, path));
        if (kind !== 'file' || mode !== fileMode(file.mode, groupId)) return false;
        if ((file.ownerUid ?? uid) !== uid || (groupId ?? gid) !== gid) return false;
        if (Buffer.compare(await fs.readFile(join(directory, path)), file.data) !== 0) return false;
      }
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async #filesBelow(directory: string, prefix: string): Promise<string[]> {
    const found: string[] = [];
    for (const { name, kind } of await this.#components.fs.readdir(join(directory, prefix))) {
      if (kind === 'directory') found.push(...(await this.#filesBelow(directory, join(prefix, name))));
      else found.push(join(prefix, name));
    }
    return found;
  }

  /** Writes a new directory, and makes it the one that counts; where any of it fails, it is as if nothing was tried. */
  async #replace(
    target: string,
    payload: Payload,
    groupId: number | undefined,
    taken: ReadonlySet<string>,
  ): Promise<string> {
    const { fs, clock, random } = this.#components;
    let name: string;
    do name = dataDirectoryName(clock.now(), random.next());
    while (taken.has(name));
    const shown: string[] = [];
    try {
      await this.#makeDirectory(join(target, name), groupId);
      for (const [path, file] of payload) await this.#writeFile(join(target, name), path, file, groupId);
      // Left by a process that was killed before its rename.
      if (taken.has(NEW_DATA)) await fs.removeAll(join(target, NEW_DATA));
      await fs.symlink(name, join(target, NEW_DATA));
      // They lead nowhere until the rename: a new file is there with all others, not after them.
      await this.#show(target, payload, taken, shown);
      await fs.rename(join(target, NEW_DATA), join(target, DATA));
      return name;
    } catch (error) {
      // What cannot be removed now goes with the next write that succeeds.
      for (const path of [name, ...shown]) await fs.removeAll(join(target, path)).catch(() => undefined);
      throw error;
    }
  }

  async #writeFile(root: string, path: string, file: ProjectedFile, groupId: number | undefined): Promise<void> {
    const { fs } = this.#components;
    const parents = path.split('/').slice(0, -1);
    for (const index of parents.keys()) await this.#makeDirectory(join(root, ...parents.slice(0, index + 1)), groupId);
    const { data, mode, ownerUid } = file;
    await fs.writeFile(join(root, path), data, { mode });
    if (ownerUid === undefined && groupId === undefined) return;
    const { uid, gid } = await fs.stat(join(root, path));
    await fs.chown(join(root, path), ownerUid ?? uid, groupId ?? gid);
    // The group may read only now that it is the pod's.
    await fs.chmod(join(root, path), fileMode(mode, groupId));
  }

  async #makeDirectory(path: string, groupId: number | undefined): Promise<void> {
    const { fs } = this.#components;
    await fs.mkdir(path, { mode: 0o755 });
    if (groupId === undefined) return;
    await fs.chown(path, (await fs.stat(path)).uid, groupId);
    await fs.chmod(path, 0o2755);
  }

  /** Links for each name that the files begin with. @param made to which each is added that was not there */
  async #show(target: string, payload: Payload, there: ReadonlySet<string>, made: string[]): Promise<void> {
    const { fs } = this.#components;
    for (const name of new Set(Array.from(payload.keys(), firstName))) {
      // A directory of this name is the mount point of another volume of the pod.
      if (there.has(name)) continue;
      await fs.symlink(join(DATA, name), join(target, name));
      made.push(name);
    }
  }

  /** Removes links whose files are gone, and data that nothing links to, also of processes that were killed. */
  async #tidy(target: string, payload: Payload, current: string, entries: readonly DirectoryEntry[]): Promise<void> {
    const { fs } = this.#components;
    const names = new Set(Array.from(payload.keys(), firstName));
    for (const { name, kind } of entries) {
      const path = join(target, name);
      if (kind === 'directory') {
        if (name !== current && DATA_DIRECTORY.test(name)) await fs.removeAll(path);
      } else if (kind === 'symlink' && name !== DATA && !names.has(name)) {
        if (name === NEW_DATA || (await fs.readlink(path)) === join(DATA, name)) await fs.remove(path);
      }
    }
  }
}

/** Members of the pod's group may read whatever is in the volume (`pkg/volume/volume_linux.go`, read-only). */
function fileMode(mode: number, groupId: number | undefined): number {
  return groupId === undefined ? mode : mode | 0o440;
}

function dataDirectoryName(nowMs: number, fraction: number): string {
  const [date = '', time = ''] = new Date(nowMs).toISOString().split('T');
  const stamp = `${date.replaceAll('-', '_')}_${time.slice(0, 8).replaceAll(':', '_')}`;
  return `..${stamp}.${Math.floor(fraction * 2 ** 32)}`;
}
