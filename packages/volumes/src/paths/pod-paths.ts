import { join } from 'node:path';
import { VolumeError } from '../errors.ts';

/** The longest name that Linux file systems have. */
const NAME_MAX = 255;

/**
 * Where the kubelet keeps what belongs to a pod; the layout is upstream's (`pkg/kubelet/kubelet_getters.go`), so that
 * either kubelet finds what the other one left. Each method throws `InvalidPath` for a UID or name that is no single
 * name of a directory (W3).
 */
export class PodPaths {
  /** `<root>/pods`: one directory for each pod. */
  readonly podsDir: string;
  /** `<root>/plugins`: what plugins have for the node as a whole. */
  readonly nodePluginsDir: string;

  /** @param rootDir the kubelet's root directory, `/var/lib/kubelet` by default upstream */
  constructor(rootDir: string) {
    this.podsDir = join(rootDir, 'pods');
    this.nodePluginsDir = join(rootDir, 'plugins');
  }

  /** Where a plugin's volumes are staged for the node, by their names. @param plugin as `kubernetes.io/local-volume` */
  stagedDir(plugin: string): string {
    return join(this.nodePluginsDir, ...plugin.split('/').map((part) => oneName(part, 'plugin name')), 'mounts');
  }

  /** Where one is staged. */
  stagedVolumeDir(plugin: string, volume: string): string {
    return join(this.stagedDir(plugin), oneName(volume, 'volume name'));
  }

  podDir(uid: string): string {
    return join(this.podsDir, oneName(uid, 'pod UID'));
  }

  /** Volumes, by plugin and by name. */
  volumesDir(uid: string): string {
    return join(this.podDir(uid), 'volumes');
  }

  /** What plugins remember of volumes, by plugin and by volume. */
  pluginsDir(uid: string): string {
    return join(this.podDir(uid), 'plugins');
  }

  /** Where parts of volumes are mounted, by volume, container and mount. */
  subPathsDir(uid: string): string {
    return join(this.podDir(uid), 'volume-subpaths');
  }

  /** @param index which of the container's mounts it is */
  subPathDir(uid: string, volume: string, container: string, index: number): string {
    return join(
      this.subPathsDir(uid),
      oneName(volume, 'volume name'),
      oneName(container, 'container name'),
      `${index}`,
    );
  }

  /** @param plugin the plugin's name, as `kubernetes.io/empty-dir` */
  volumeDir(uid: string, plugin: string, volume: string): string {
    return join(this.volumesDir(uid), escapePluginName(plugin), oneName(volume, 'volume name'));
  }

  /** @param plugin the plugin's name, as `kubernetes.io/empty-dir` */
  pluginDir(uid: string, plugin: string, volume: string): string {
    return join(this.pluginsDir(uid), escapePluginName(plugin), oneName(volume, 'volume name'));
  }
}

/** `kubernetes.io/empty-dir` as the name of a directory: `kubernetes.io~empty-dir`. */
export function escapePluginName(name: string): string {
  return oneName(name.replaceAll('/', '~'), 'plugin name');
}

function oneName(name: string, what: string): string {
  const bad = name === '' || name === '.' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > NAME_MAX;
  if (bad) throw new VolumeError('InvalidPath', `${what} ${JSON.stringify(name)} cannot be the name of a directory`);
  return name;
}
