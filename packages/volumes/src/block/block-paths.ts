import { join } from 'node:path';
import { escapePluginName, type PodPaths } from '../paths/pod-paths.ts';

/** Paths of the block volumes of one plugin, as upstream lays them out (`GetGlobalMapPath`, `GetPodDeviceMapPath`). */
export class BlockPaths {
  readonly #paths: Pick<PodPaths, 'pluginDataDir' | 'volumeDevicesDir'>;
  readonly #plugin: string;
  readonly #directory: string;

  /**
   * @param plugin name of the plugin
   * @param directory directory of the plugin below `<root>/plugins`, for example `kubernetes.io/csi`
   */
  constructor(paths: Pick<PodPaths, 'pluginDataDir' | 'volumeDevicesDir'>, plugin: string, directory: string) {
    this.#paths = paths;
    this.#plugin = plugin;
    this.#directory = directory;
  }

  /** Returns the path `<root>/plugins/PLUGIN/volumeDevices/...` for the given names. */
  nodeDir(...names: readonly string[]): string {
    return this.#paths.pluginDataDir(this.#directory, 'volumeDevices', ...names);
  }

  /** Returns the path of the symbolic link to the volume's device, which lies in the pod's directory. */
  podLink(podUid: string, directoryName: string): string {
    return join(this.#paths.volumeDevicesDir(podUid), escapePluginName(this.#plugin), directoryName);
  }
}
