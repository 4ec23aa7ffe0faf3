import { basename, dirname } from 'node:path';
import type { MemoryFileSystem } from '@node-agent/host/testing';
import type { Mounter } from './mounter.ts';

/** A new mount at `target`, or an unmount if `source` is `undefined`. */
export interface MountChange {
  readonly target: string;
  readonly source: string | undefined;
}

/** Operations of a file system in memory that a {@link MemoryMounter} needs. */
export type MountableFiles = Pick<MemoryFileSystem, 'bind' | 'holdBeneath' | 'mount' | 'unmount'>;

/** Prefix of the handles that `holdBeneath` of a {@link MemoryFileSystem} returns. */
const HANDLES = '/proc/1/fd/';

/**
 * Mounts over an in-memory file system, for tests and for kubelets without a machine. Like real mounts, the mounts
 * survive the kubelet. A bind mount of a disk only exists and does not show the disk's content.
 */
export class MemoryMounter implements Mounter {
  readonly #fs: MountableFiles;
  readonly #tell: (change: MountChange) => void;
  readonly #points = new Map<string, string>();
  /** Source of each mount, by mount point. A bind mount of another mount has the source of that mount. */
  readonly #sources = new Map<string, string>();

  /** @param tell callback that is called after each mount and unmount */
  constructor(components: { readonly fs: MountableFiles }, tell: (change: MountChange) => void = () => {}) {
    this.#fs = components.fs;
    this.#tell = tell;
  }

  async mountPoints(): Promise<ReadonlyMap<string, string>> {
    return new Map(this.#points);
  }

  async mountsOfSame(path: string): Promise<readonly string[]> {
    const shown = this.#sources.get(path);
    return [...this.#sources].filter(([, source]) => source === shown).map(([point]) => point);
  }

  async mount(source: string, target: string, fsType: string): Promise<void> {
    this.#fs.mount(target);
    this.#mounted(source, target, fsType);
  }

  async bind(source: string, target: string): Promise<void> {
    // The bind mount of a disk need not show the disk's content.
    if (this.#points.has(source)) this.#fs.mount(target);
    else if (!source.startsWith(HANDLES)) {
      const place = await this.#fs.holdBeneath(dirname(source), basename(source));
      this.#fs.bind(place.handle, target);
      await place.close();
    } else this.#fs.bind(source, target);
    this.#mounted(source, target, 'bound');
  }

  async rebind(): Promise<void> {
    // Mount options have no effect in memory.
  }

  /** Removes all mounts, as a restart of the machine does. */
  reboot(): void {
    for (const target of [...this.#points.keys()].toReversed()) this.#fs.unmount(target);
    for (const target of this.#points.keys()) this.#tell({ target, source: undefined });
    this.#points.clear();
    this.#sources.clear();
  }

  async unmount(target: string): Promise<void> {
    this.#fs.unmount(target);
    this.#points.delete(target);
    this.#sources.delete(target);
    this.#tell({ target, source: undefined });
  }

  #mounted(source: string, target: string, fsType: string): void {
    this.#points.set(target, fsType);
    this.#sources.set(target, this.#sources.get(source) ?? source);
    this.#tell({ target, source });
  }
}
