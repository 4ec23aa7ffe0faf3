import { join } from 'node:path';
import type { Clock, Random } from '@node-agent/async';
import { type DirectoryEntry, type FileSystem, isMissing } from '@node-agent/host';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { cleanPayload, firstName, type Payload, type ProjectedFile } from './payload.ts';

/** Dependencies of `AtomicWriter`. */
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

/** Name of the link to the current data directory. */
export const DATA = '..data';
const NEW_DATA = '..data_tmp';
/** Name pattern of data directories of any writer: `..2006_01_02_15_04_05.` and digits. */
const DATA_DIRECTORY = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/;

/**
 * Replaces all files of a volume atomically (`pkg/volume/util/atomic_writer.go`). The layout is that of the Go kubelet,
 * so that each of the two kubelets can update a volume of the other. Files are links through `..data`, which is a link
 * to a data directory. The data directory is written completely before a new link is renamed over `..data`. A reader
 * that opens the directory behind `..data` sees one consistent set of files. If the process is killed between any two
 * steps, the volume has the old set or the new set, and the next write completes the update. Difference from upstream:
 * links of new files are created before the rename; upstream creates them after it, because of Windows.
 */
export class AtomicWriter {
  readonly #components: WithDefaults<AtomicWriterComponents>;

  constructor(components: AtomicWriterComponents) {
    this.#components = withDefaults(components);
  }

  /**
   * Writes exactly these files to the volume at `target`, an existing directory. If the volume already contains them,
   * nothing is written.
   * @param groupId the group (`fsGroup`) that owns all files and may read them; if absent, the group is not changed
   * @returns whether files were written
   * @throws VolumeError `InvalidPath`, before anything is changed
   */
  async write(target: string, files: Payload, groupId?: number): Promise<boolean> {
    const payload = cleanPayload(files);
    const entries = await this.#components.fs.readdir(target);
    const names = new Set(entries.map(({ name }) => name));
    const current = names.has(DATA) ? await this.#currentDirectory(target) : undefined;
    const changed = current === undefined || !(await this.#holds(join(target, current), payload, groupId));
    const wanted = changed ? await this.#replace(target, payload, groupId, names) : current;
    // The data directory is up to date, but links to it may be missing because a process was killed or another program
    // removed them.
    if (!changed) await this.#show(target, payload, names, []);
    // After a change, the temporary link has been renamed to `..data`, so it is not cleaned up.
    const left = changed ? entries.filter(({ name }) => name !== NEW_DATA) : entries;
    await this.#tidy(target, payload, wanted, left);
    return changed;
  }

  async #currentDirectory(target: string): Promise<string | undefined> {
    try {
      const name = await this.#components.fs.readlink(join(target, DATA));
      // A link to any other name was not created by this writer. The link is replaced, and its target is not touched
      // (W3).
      return DATA_DIRECTORY.test(name) ? name : undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Returns whether a directory contains exactly these files, with the right modes and owners. */
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

  /** Writes a new data directory and makes it the current one. If any step fails, all steps are reverted. */
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
      // A process that was killed before its rename has left the temporary link.
      if (taken.has(NEW_DATA)) await fs.removeAll(join(target, NEW_DATA));
      await fs.symlink(name, join(target, NEW_DATA));
      // Links to new files dangle until the rename, which makes all files appear at once.
      await this.#show(target, payload, taken, shown);
      await fs.rename(join(target, NEW_DATA), join(target, DATA));
      return name;
    } catch (error) {
      // If the clean-up fails, the next successful write removes these entries.
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
    // The read permission for the group is set only after the file has the pod's group.
    await fs.chmod(join(root, path), fileMode(mode, groupId));
  }

  async #makeDirectory(path: string, groupId: number | undefined): Promise<void> {
    const { fs } = this.#components;
    await fs.mkdir(path, { mode: 0o755 });
    if (groupId === undefined) return;
    await fs.chown(path, (await fs.stat(path)).uid, groupId);
    await fs.chmod(path, 0o2755);
  }

  /** Creates links for the first path components of all files. @param made receives each name that was created */
  async #show(target: string, payload: Payload, there: ReadonlySet<string>, made: string[]): Promise<void> {
    const { fs } = this.#components;
    for (const name of new Set(Array.from(payload.keys(), firstName))) {
      // A directory with this name is the mount point of another volume of the pod.
      if (there.has(name)) continue;
      await fs.symlink(join(DATA, name), join(target, name));
      made.push(name);
    }
  }

  /** Removes links without files, and unused data directories, including those of killed processes. */
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

/**
 * Returns a file's mode, with read permission for the group if there is a pod group (`pkg/volume/volume_linux.go`,
 * read-only).
 */
function fileMode(mode: number, groupId: number | undefined): number {
  return groupId === undefined ? mode : mode | 0o440;
}

function dataDirectoryName(nowMs: number, fraction: number): string {
  const [date = '', time = ''] = new Date(nowMs).toISOString().split('T');
  const stamp = `${date.replaceAll('-', '_')}_${time.slice(0, 8).replaceAll(':', '_')}`;
  return `..${stamp}.${Math.floor(fraction * 2 ** 32)}`;
}
