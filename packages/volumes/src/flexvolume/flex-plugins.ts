import { join } from 'node:path';
import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import { type EventRecorder, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { LocalDevices } from '../claims/local-staging.ts';
import { VolumeError } from '../errors.ts';
import type { VolumePlugin } from '../manager/plugin.ts';
import type { PluginSource } from '../manager/plugin-set.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';
import { UnansweredCalls } from '../manager/unanswered-calls.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';
import type { VolumeSecrets } from '../projected/sources.ts';
import { FlexDriver, type FlexPrograms } from './flex-driver.ts';
import { FLEX_PLUGIN, FlexPaths } from './flex-paths.ts';
import { FlexPlugin } from './flex-plugin.ts';
import { flexSource } from './flex-source.ts';

/** Dependencies of {@link FlexVolumePlugins}. */
export interface FlexVolumeComponents {
  readonly fs: Pick<FileSystem, 'stat' | 'mkdir' | 'readdir' | 'remove' | 'realpath' | 'giveToGroup'>;
  /** File operations on the volumes' own file systems, which may hang (W6). */
  readonly foreignFiles: Pick<ForeignFiles, 'stat' | 'statfs' | 'isDeviceInUse'>;
  /**
   * Mounter for these volumes only. The mounter should not be shared, because it refuses all commands if too many
   * commands hang on a volume.
   */
  readonly mounter: Pick<Mounter, 'mountPoints' | 'bind' | 'unmount'>;
  /** Mounts disks for drivers that support attach but not mount. If absent, volumes of such drivers are refused. */
  readonly devices?: Pick<LocalDevices, 'formatAndMount' | 'grow'>;
  /**
   * Returns the device path of an attached volume, from `volumesAttached` in the node's status. Default: returns
   * `undefined`.
   */
  readonly devicePath?: (uniqueName: string) => string | undefined;
  readonly programs: FlexPrograms;
  readonly paths: PodPaths;
  /** Reads the secrets that volumes pass to their drivers; absent without an API server. */
  readonly secrets?: VolumeSecrets;
  /**
   * Whether an attach/detach controller calls the drivers that attach volumes. Default: true. Without one, volumes of
   * such drivers are refused.
   */
  readonly hasController?: boolean;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
}

export interface FlexVolumeOptions {
  /** Directory of the drivers (`--volume-plugin-dir`), each in a directory `VENDOR~DRIVER`. */
  readonly directory: string;
}

interface Known {
  readonly driver: FlexDriver;
  readonly plugin: VolumePlugin;
}

/**
 * Provides one plugin for each flexVolume driver of this node (`flexVolumeProber` of `pkg/volume/flexvolume`). New
 * drivers and replaced programs are detected when the next volume needs a driver; upstream watches the directory. The
 * directory of the drivers is not created.
 */
export class FlexVolumePlugins implements PluginSource {
  readonly #components: WithDefaults<FlexVolumeComponents>;
  readonly #directory: string;
  readonly #calls: UnansweredCalls;
  /** Drivers by the name of their directory. */
  readonly #known = new Map<string, Known>();
  /** Plugin for volumes whose driver is not installed. The volume's pod waits until the driver is installed. */
  readonly #missing: VolumePlugin;
  #plugins: readonly VolumePlugin[];

  constructor(given: FlexVolumeComponents, options: FlexVolumeOptions) {
    checkOptions('FlexVolumePlugins', options, { directory: 'string' });
    checkComponents('FlexVolumePlugins', given, {
      fs: ['mkdir', 'readdir', 'remove', 'realpath', 'giveToGroup', 'stat'],
      foreignFiles: ['stat', 'statfs', 'isDeviceInUse'],
      mounter: ['mountPoints', 'bind', 'unmount'],
      programs: ['run'],
      paths: ['volumeDir', 'stagedDir', 'stagedVolumeDir'],
    });
    this.#components = withDefaults(given);
    const { directory } = options;
    this.#directory = directory;
    this.#calls = new UnansweredCalls(this.#components.clock);
    this.#missing = missingDriver(directory);
    this.#plugins = [this.#missing];
  }

  plugins(): readonly VolumePlugin[] {
    return this.#plugins;
  }

  async find(): Promise<void> {
    const { fs, logger } = this.#components;
    try {
      const found: VolumePlugin[] = [];
      for (const { name, kind } of await readDirectory(fs, this.#directory)) {
        // A driver is installed under a name that begins with a dot, and renamed when it is complete.
        if (kind !== 'directory' || name.startsWith('.')) continue;
        const known = this.#known.get(name) ?? this.#make(name);
        this.#known.set(name, known);
        if (await known.driver.refresh()) found.push(known.plugin);
      }
      this.#plugins = [...found, this.#missing];
    } catch (err) {
      logger.error({ err, directory: this.#directory }, 'Failed to read the directory of flexVolume drivers');
    }
  }

  #make(directory: string): Known {
    const {
      devices,
      devicePath = () => undefined,
      secrets,
      paths,
      hasController = true,
      ...components
    } = this.#components;
    const calls = this.#calls;
    const driver = new FlexDriver({ ...components, calls }, join(this.#directory, directory));
    const own = {
      driver,
      calls,
      devices,
      devicePath,
      secrets,
      hasController,
      paths: new FlexPaths(paths, driver.name),
    };
    return { driver, plugin: new FlexPlugin({ ...components, ...own }) };
  }
}

/** Returns the plugin for volumes whose driver is missing. */
function missingDriver(directory: string): VolumePlugin {
  return {
    name: FLEX_PLUGIN,
    isStandIn: true,
    canSupport: (spec) => flexSource(spec) !== undefined,
    resolve: (_pod, spec) => Promise.reject(refusal(spec, directory)),
    setUp: (_pod, volume) => Promise.reject(refusal(volume, directory)),
    tearDown: async () => {},
    isRemoving: () => false,
  };
}

function refusal(spec: VolumeSpec, directory: string): VolumeError {
  const { driver = '', name = '' } = flexSource(spec) ?? {};
  const why = `no volume plugin matched: flexVolume driver ${driver} is not in ${directory}`;
  return new VolumeError('DriverNotFound', `failed to get Plugin from volumeSpec for volume "${name}" err=${why}`);
}
