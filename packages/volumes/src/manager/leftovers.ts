import type { FileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { LastingProblem, type Logger } from '@node-agent/telemetry';
import type { PodPaths } from '../paths/pod-paths.ts';
import {
  idOnDisk,
  isOnDisk,
  subPathVolumesOnDisk,
  type VolumeOnDisk,
  volumesOnDisk,
} from '../paths/volumes-on-disk.ts';
import type { VolumePlugin } from './plugin.ts';
import type { PluginSet } from './plugin-set.ts';
import { takeInFromDisk } from './take-in.ts';
import { type ActionHelpers, foreignActions, stagedVolume, volumeActions } from './volume-actions.ts';
import type { VolumeEntries } from './volume-entries.ts';
import type { VolumeActions } from './volume-entry.ts';
import type { VolumeMetrics } from './volume-metrics.ts';
import type { VolumeOperations } from './volume-operations.ts';

/** Dependencies of {@link Leftovers}. */
export interface LeftoversComponents {
  readonly fs: Pick<FileSystem, 'readdir' | 'remove'>;
  readonly paths: PodPaths;
  readonly plugins: PluginSet;
  readonly logger: Logger;
  readonly metrics: Pick<VolumeMetrics, 'reconstructed'>;
  readonly operations: Pick<VolumeOperations, 'found' | 'foundStaged' | 'remove'>;
  readonly entries: Pick<VolumeEntries, 'of'>;
  readonly helpers: ActionHelpers;
}

/** Finds volumes on disk, whichever process created them, so that no other state must survive a restart (K1). */
export class Leftovers {
  readonly #components: LeftoversComponents;
  /** UIDs of the pods whose volumes are all registered. */
  readonly #takenIn = new Set<string>();
  /** Plugins whose staged volumes are all registered. */
  readonly #searched = new WeakSet<VolumePlugin>();
  /** Volumes of former processes that the metrics have counted: UID of the pod, and directory below `volumes`. */
  readonly #counted = new Set<string>();
  /** Whether no attempt to register all volumes has ended. */
  #isFirst = true;
  /** Volumes in the directories of pods that could not be registered. */
  readonly #unregistered: LastingProblem;
  /** Plugins whose staged volumes could not be found. */
  readonly #unsearched: LastingProblem;

  constructor(components: LeftoversComponents) {
    this.#components = components;
    this.#unregistered = new LastingProblem(components.logger, {
      failed: 'Failed to register leftovers of a former process on disk',
      over: 'Registered leftovers of a former process after failures',
    });
    this.#unsearched = new LastingProblem(components.logger, {
      failed: 'Failed to find the staged volumes of a plugin',
      over: 'Found the staged volumes of a plugin after failures',
    });
  }

  /**
   * Registers all volumes that a former process left. A volume is not changed before its pod is known, unless the
   * former process had begun to remove the volume. May be called again if not all volumes could be registered.
   * @returns whether all volumes are registered
   */
  async takeIn(signal: AbortSignal): Promise<boolean> {
    await this.#components.plugins.find();
    const isWhole = await takeInFromDisk(
      {
        ...this.#components,
        problem: this.#unregistered,
        isRemoving: (volume) => this.#pluginOf(volume)?.isRemoving(volume.name) ?? false,
        mustCount: (podUid, volume) => this.#mustCount(podUid, volume),
        takeIn: (podUid, volume) => this.#takeIn(podUid, volume, signal),
        takenIn: this.#takenIn,
        takeInStaged: () => this.#takeInStaged(),
      },
      signal,
    );
    this.#isFirst = false;
    return isWhole;
  }

  /** Removes all volumes of a pod that are on disk. @param pod the pod if it is known */
  async remove(podUid: string, pod: Pod | undefined): Promise<void> {
    const { fs, paths, operations, helpers, logger } = this.#components;
    if (!(await isOnDisk(fs, paths, podUid))) return;
    for (const volume of await volumesOnDisk(fs, paths, podUid)) {
      const key = { podUid, directoryName: volume.name, id: idOnDisk(volume) };
      const actions = await this.#actions(podUid, volume).catch((err: unknown) => {
        // The removal does not need the node volume: it decides itself which files may be removed.
        logger.warn({ err, podUid, volume: volume.name }, 'Failed to reconstruct a volume that is removed');
        const { name: directoryName } = volume;
        return volumeActions(helpers, { podUid, directoryName, plugin: this.#pluginOf(volume) });
      });
      operations.remove(key, actions, pod);
    }
    // A former process may have mounted subPaths of volumes that leave no directory below `volumes`.
    for (const directoryName of await subPathVolumesOnDisk(fs, paths, podUid)) {
      const key = { podUid, directoryName, id: `volume-subpaths/${directoryName}` };
      operations.remove(key, volumeActions(helpers, { podUid, directoryName, plugin: undefined }), pod);
    }
  }

  async #takeIn(podUid: string, volume: VolumeOnDisk, signal: AbortSignal): Promise<void> {
    const { logger, operations } = this.#components;
    const plugin = this.#pluginOf(volume);
    if (plugin === undefined) return;
    if (plugin.isRemoving(volume.name)) {
      // If the volume is registered, this process is removing it.
      if (this.#isRegistered(podUid, volume)) return;
      await plugin.tearDown(podUid, volume.name, signal);
      logger.info({ podUid, volume: volume.name }, 'Finished an interrupted removal of a volume');
      return;
    }
    const key = { podUid, directoryName: volume.name, id: idOnDisk(volume) };
    operations.found(key, await this.#actions(podUid, volume));
  }

  #isRegistered(podUid: string, { name }: VolumeOnDisk): boolean {
    return [...this.#components.entries.of(podUid)].some(({ directoryName }) => directoryName === name);
  }

  /**
   * Returns whether the metrics must count the volume: it is not counted yet, and this process has not set it up after
   * an earlier attempt. Records that the volume is counted.
   */
  #mustCount(podUid: string, volume: VolumeOnDisk): boolean {
    const key = `${podUid}/${idOnDisk(volume)}`;
    if (this.#counted.has(key)) return false;
    if (!this.#isFirst && this.#isRegistered(podUid, volume)) return false;
    this.#counted.add(key);
    return true;
  }

  /**
   * Registers staged volumes. Called after all pods are registered; a staged volume that no pod uses is unstaged.
   * @returns whether the staged volumes of all plugins are registered
   */
  async #takeInStaged(): Promise<boolean> {
    const { plugins, operations } = this.#components;
    let isWhole = true;
    for (const plugin of plugins.all()) {
      const { node } = plugin;
      if (node === undefined || this.#searched.has(plugin)) continue;
      try {
        for (const volume of await node.staged()) operations.foundStaged(stagedVolume(volume, plugin, node));
        this.#searched.add(plugin);
        this.#unsearched.over({ plugin: plugin.name });
      } catch (err) {
        isWhole = false;
        this.#unsearched.failed(err, { plugin: plugin.name });
      }
    }
    return isWhole;
  }

  async #actions(podUid: string, volume: VolumeOnDisk): Promise<VolumeActions> {
    const plugin = this.#pluginOf(volume);
    if (plugin === undefined) return foreignActions(this.#components, podUid, volume);
    const directoryName = volume.name;
    const node = await plugin.node?.reconstruct(podUid, directoryName);
    return volumeActions(this.#components.helpers, { podUid, directoryName, plugin, node });
  }

  #pluginOf(volume: VolumeOnDisk): VolumePlugin | undefined {
    return this.#components.plugins.ofDirectory(volume);
  }
}
