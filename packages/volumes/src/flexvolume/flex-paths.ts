import { basename, dirname } from 'node:path';
import type { FileSystem } from '@node-agent/host';
import type { PodPaths } from '../paths/pod-paths.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';

/** Name of the plugin in upstream's kubelet, for paths; it is the same for all drivers. */
export const FLEX_PLUGIN = 'kubernetes.io/flexvolume';

/** Paths of a driver's volumes in upstream's layout. Methods throw `InvalidPath` for invalid names (W3). */
export class FlexPaths {
  readonly #paths: Pick<PodPaths, 'volumeDir' | 'stagedDir' | 'stagedVolumeDir'>;
  readonly #driver: string;

  constructor(paths: Pick<PodPaths, 'volumeDir' | 'stagedDir' | 'stagedVolumeDir'>, driver: string) {
    this.#paths = paths;
    this.#driver = driver;
  }

  /** Directory `<root>/plugins/kubernetes.io/flexvolume/VENDOR/DRIVER/mounts`. */
  get devicesDir(): string {
    return this.#paths.stagedDir(`${FLEX_PLUGIN}/${this.#driver}`);
  }

  /** Returns the path at which a volume is mounted for the node (`getDeviceMountPath`). */
  deviceDir(name: string): string {
    return this.#paths.stagedVolumeDir(`${FLEX_PLUGIN}/${this.#driver}`, name);
  }

  /** Returns the path at which a volume is mounted for a pod. */
  podDir(podUid: string, directoryName: string): string {
    return this.#paths.volumeDir(podUid, this.#driver, directoryName);
  }
}

/** Returns whether a path exists. A file system that is mounted there is not accessed (W6). */
export async function hasEntry(fs: Pick<FileSystem, 'readdir'>, path: string): Promise<boolean> {
  const name = basename(path);
  return (await readDirectory(fs, dirname(path))).some((entry) => entry.name === name);
}
