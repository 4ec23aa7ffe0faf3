import { join } from 'node:path';
import { VolumeError } from '../errors.ts';

/** Maximum length of a file name on Linux. */
const NAME_MAX = 255;

/**
 * Paths of pods' data. The layout is that of the Go kubelet (`pkg/kubelet/kubelet_getters.go`), so that each of the two
 * kubelets finds the data of the other. Each method throws `InvalidPath` if a UID or name is not a valid single
 * directory name (W3).
 */
export class PodPaths {
  /** `<root>/pods`, with one directory per pod. */
  readonly podsDir: string;
  /** `<root>/plugins`: data of plugins for the whole node. */
  readonly nodePluginsDir: string;

  /** @param rootDir the kubelet's root directory; upstream's default is `/var/lib/kubelet` */
  constructor(rootDir: string) {
    this.podsDir = join(rootDir, 'pods');
    this.nodePluginsDir = join(rootDir, 'plugins');
  }

  /**
   * Returns the directory below which a plugin stages volumes, by volume name. @param plugin for example
   * `kubernetes.io/local-volume`
   */
  stagedDir(plugin: string): string {
    return join(this.nodePluginsDir, ...plugin.split('/').map((part) => oneName(part, 'plugin name')), 'mounts');
  }

  /** Returns the directory in which a volume is staged. */
  stagedVolumeDir(plugin: string, volume: string): string {
    return join(this.stagedDir(plugin), oneName(volume, 'volume name'));
  }

  /** Returns a directory with a plugin's data for the whole node. @param plugin for example `kubernetes.io/csi` */
  pluginDataDir(plugin: string, ...names: readonly string[]): string {
    const parts = plugin.split('/').map((part) => oneName(part, 'plugin name'));
    return join(this.nodePluginsDir, ...parts, ...names.map((name) => oneName(name, 'name')));
  }

  podDir(uid: string): string {
    return join(this.podsDir, oneName(uid, 'pod UID'));
  }

  /** Returns the directory of the pod's volumes, which is structured by plugin and volume name. */
  volumesDir(uid: string): string {
    return join(this.podDir(uid), 'volumes');
  }

  /** Returns the directory of links to the pod's block devices, which is structured by plugin and volume name. */
  volumeDevicesDir(uid: string): string {
    return join(this.podDir(uid), 'volumeDevices');
  }

  /** Returns the directory of plugins' state, which is structured by plugin and volume name. */
  pluginsDir(uid: string): string {
    return join(this.podDir(uid), 'plugins');
  }

  /** Returns the directory of mounted subPaths, which is structured by volume, container and mount index. */
  subPathsDir(uid: string): string {
    return join(this.podDir(uid), 'volume-subpaths');
  }

  /** Returns the path at which a subPath is mounted. @param index index of the container's mount */
  subPathDir(uid: string, volume: string, container: string, index: number): string {
    return join(
      this.subPathsDir(uid),
      oneName(volume, 'volume name'),
      oneName(container, 'container name'),
      `${index}`,
    );
  }

  /** Returns the directory of a pod's volume. @param plugin plugin name, for example `kubernetes.io/empty-dir` */
  volumeDir(uid: string, plugin: string, volume: string): string {
    return join(this.volumesDir(uid), escapePluginName(plugin), oneName(volume, 'volume name'));
  }

  /**
   * Returns the directory in which a plugin keeps the state of a pod's volume. @param plugin plugin name, for example
   * `kubernetes.io/empty-dir`
   */
  pluginDir(uid: string, plugin: string, volume: string): string {
    return join(this.pluginsDir(uid), escapePluginName(plugin), oneName(volume, 'volume name'));
  }
}

/** Escapes a plugin name for use as a directory name: `kubernetes.io/empty-dir` becomes `kubernetes.io~empty-dir`. */
export function escapePluginName(name: string): string {
  return oneName(name.replaceAll('/', '~'), 'plugin name');
}

function oneName(name: string, what: string): string {
  const bad = name === '' || name === '.' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > NAME_MAX;
  if (bad) throw new VolumeError('InvalidPath', `${what} ${JSON.stringify(name)} must be usable as a directory name`);
  return name;
}
