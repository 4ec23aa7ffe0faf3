import { dirname } from 'node:path';
import { type FileSystem, isMissing } from '@node-agent/host';
import { type Mounter, realDirectory } from './mounter.ts';

/** What {@link MountedTypes} works with. */
export interface MountedTypesComponents {
  readonly fs: Pick<FileSystem, 'realpath' | 'mountId'>;
  readonly mounter: Pick<Mounter, 'mountPoints'>;
}

/**
 * Which file systems are mounted at directories of the kubelet's own. What is mounted is not asked, as it may never answer (W6), and
 * the mount table, which grows with the pods, is read once for a mount: the mount's id tells whether it is still the same.
 */
export class MountedTypes {
  readonly #components: MountedTypesComponents;
  readonly #known = new Map<string, { readonly mountId: string; readonly type: string }>();

  constructor(components: MountedTypesComponents) {
    this.#components = components;
  }

  /** The type of what is mounted at `directory` itself; `undefined` where nothing is, or it is not there. */
  async at(directory: string): Promise<string | undefined> {
    const mountId = await this.#ownMountId(directory);
    const known = this.#known.get(directory);
    if (mountId !== undefined && known?.mountId === mountId) return known.type;
    this.#known.delete(directory);
    if (mountId === undefined) return undefined;
    const real = await realDirectory(this.#components.fs, directory);
    const type = real === undefined ? undefined : (await this.#components.mounter.mountPoints()).get(real);
    if (type !== undefined) this.#known.set(directory, { mountId, type });
    return type;
  }

  /** The mount table is read when it is asked next: the directory goes, or its mounts change. */
  forget(directory: string): void {
    this.#known.delete(directory);
  }

  async #ownMountId(directory: string): Promise<string | undefined> {
    const { fs } = this.#components;
    try {
      const mountId = await fs.mountId(directory);
      return mountId === (await fs.mountId(dirname(directory))) ? undefined : mountId;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}
