import { join } from 'node:path';
import type { PodPaths } from '../paths/pod-paths.ts';
import { CSI_PLUGIN, type CsiIdentity, handleHash } from './csi-names.ts';

/** Name of the directory at which a driver stages a volume. */
export const GLOBAL_MOUNT = 'globalmount';

/** Paths of CSI volumes in upstream's layout (`pkg/volume/csi`). Methods throw `InvalidPath` for invalid names. */
export class CsiPaths {
  readonly #paths: Pick<PodPaths, 'volumeDir' | 'pluginDataDir'>;

  constructor(paths: Pick<PodPaths, 'volumeDir' | 'pluginDataDir'>) {
    this.#paths = paths;
  }

  /** Directory `<root>/plugins/kubernetes.io/csi`, with one subdirectory per driver. */
  get stagedDir(): string {
    return this.#paths.pluginDataDir(CSI_PLUGIN);
  }

  /** Returns the directory with the volume's data file and {@link globalMount}. */
  stagedVolumeDir({ driver, handle }: CsiIdentity): string {
    return this.#paths.pluginDataDir(CSI_PLUGIN, driver, handleHash(handle));
  }

  /** Returns the path at which the driver stages the volume. */
  globalMount(identity: CsiIdentity): string {
    return join(this.stagedVolumeDir(identity), GLOBAL_MOUNT);
  }

  /** Returns the directory with the data file of a pod's volume and its {@link podMount}. */
  podVolumeDir(podUid: string, directoryName: string): string {
    return this.#paths.volumeDir(podUid, CSI_PLUGIN, directoryName);
  }

  /** Returns the path at which the driver publishes the volume to the pod. */
  podMount(podUid: string, directoryName: string): string {
    return join(this.podVolumeDir(podUid, directoryName), 'mount');
  }
}
