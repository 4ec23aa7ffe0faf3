import { isOfPlugin, type VolumeOnDisk } from '../paths/volumes-on-disk.ts';
import type { VolumePlugin } from './plugin.ts';
import type { VolumeSpec } from './resolved-volume.ts';

/** Port to plugins that come and go while the kubelet runs (upstream: `DynamicPluginProber`). */
export interface PluginSource {
  /** Returns the plugins that the last call of {@link find} found. */
  plugins(): readonly VolumePlugin[];
  /** Searches for plugins again. Never rejects. */
  find(): Promise<void>;
}

/** All volume plugins; the first that supports a volume is used. */
export class PluginSet {
  readonly #fixed: readonly VolumePlugin[];
  readonly #more: PluginSource | undefined;

  constructor(fixed: readonly VolumePlugin[], more?: PluginSource) {
    this.#fixed = fixed;
    this.#more = more;
  }

  all(): readonly VolumePlugin[] {
    return [...this.#fixed, ...(this.#more?.plugins() ?? [])];
  }

  of(spec: VolumeSpec): VolumePlugin | undefined {
    const supports = (plugin: VolumePlugin): boolean => plugin.canSupport(spec);
    return this.#fixed.find(supports) ?? this.#more?.plugins().find(supports);
  }

  /** Returns the plugin of a volume. If only a stand-in supports the volume, new plugins are searched for first. */
  async newest(spec: VolumeSpec): Promise<VolumePlugin | undefined> {
    const known = this.of(spec);
    if (!known?.isStandIn) return known;
    await this.find();
    return this.of(spec);
  }

  /** Returns the plugin of a volume on disk. */
  ofDirectory(volume: VolumeOnDisk): VolumePlugin | undefined {
    return this.all().find((plugin) => isOfPlugin(volume, plugin));
  }

  /** Searches for plugins that were added or removed. Never rejects. */
  async find(): Promise<void> {
    await this.#more?.find();
  }
}
