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
  /** Access to the volumes' file systems, which may never answer (W6). */
  readonly foreignFiles: Pick<ForeignFiles, 'stat' | 'statfs' | 'isDeviceInUse'>;
  /** Use a separate mounter for these volumes: it refuses further commands if too many hang on a volume. */
  readonly mounter: Pick<Mounter, 'mountPoints' | 'bind' | 'unmount'>;
  /** Mounts disks for drivers that do not do that themselves. If absent, volumes of such drivers are refused. */
  readonly devices?: Pick<LocalDevices, 'formatAndMount' | 'grow'>;
  /** Returns the path of an attached volume's device, from `volumesAttached` in the node's status. Default: returns `undefined`. */
  readonly devicePath?: (uniqueName: string) => string | undefined;
  readonly programs: FlexPrograms;
  readonly paths: PodPaths;
  /** Secrets that drivers get. Absent without an API server. */
  readonly secrets?: VolumeSecrets;
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
 * The flexVolume drivers of this node, one plugin each (`flexVolumeProber` of `pkg/volume/flexvolume`). A driver is found
 * when a volume needs it, and a replaced program is noticed with the next volume; upstream watches the directory. The
 * directory is not created.
 */
export class FlexVolumePlugins implements PluginSource {
  readonly #components: WithDefaults<FlexVolumeComponents>;
  readonly #directory: string;
  readonly #calls: UnansweredCalls;
  /** Drivers by the name of their directory. */
  readonly #known = new Map<string, Known>();
  /** Plugin for volumes whose driver is not installed. Their pods wait until it is. */
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
        // A directory whose name begins with a dot is not complete yet.
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
    const { devices, devicePath = () => undefined, secrets, paths, ...components } = this.#components;
    const calls = this.#calls;
    const driver = new FlexDriver({ ...components, calls }, join(this.#directory, directory));
    const own = { driver, calls, devices, devicePath, secrets, paths: new FlexPaths(paths, driver.name) };
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
