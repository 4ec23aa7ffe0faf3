import { join } from 'node:path';
import { checkNumbers } from '@node-agent/async';
import type { FileSystem, TreeUsage } from '@node-agent/host';
import { oncePer, type Pod, type Volume } from '@node-agent/pod-spec';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import type { MountedVolume, VolumePlugin } from '../manager/plugin.ts';
import type { ResolvedVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import type { MountContext } from '../mount/mount-context.ts';
import { nestedMountPoints, nestedMounts } from '../mount/nested-mounts.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { memoryVolumeBytes } from '../types/memory-size.ts';
import {
  isRemovingName,
  type ScratchComponents,
  ScratchDirectories,
  type ScratchPaths,
} from '../types/scratch-directory.ts';
import { AtomicWriter, type AtomicWriterComponents } from './atomic-writer.ts';
import type { Payload } from './payload.ts';
import { type Projection, projectionsOf } from './projections.ts';
import type { ProjectionSources } from './sources.ts';
import { payloadDigest, WrittenPayloads } from './written-payloads.ts';

/** Dependencies of the plugins of {@link projectionPlugins}. */
export interface ProjectionComponents
  extends Omit<ScratchComponents, 'clock'>,
    Omit<AtomicWriterComponents, 'clock' | 'random'> {
  /** Default: the system clock. */
  readonly clock?: AtomicWriterComponents['clock'];
  /** Default: the system's random source. */
  readonly random?: AtomicWriterComponents['random'];
  readonly fs: FileSystem;
  readonly paths: PodPaths;
  readonly sources: ProjectionSources;
}

export interface ProjectionOptions {
  /** Memory of this node that pods may use, in bytes; limits volumes in memory. */
  readonly allocatableMemoryBytes: number;
}

/** Plugin name under which upstream keeps the state of these volumes' directories. */
const WRAPPED_PLUGIN = 'kubernetes.io/empty-dir';

/**
 * Returns the plugins for volumes that the kubelet fills with files: `downwardAPI` and `projected`; with a source of
 * objects also `configMap` and `secret`. A projected volume with a part that has no source is refused with a message
 * that names the part.
 * @throws RangeError naming the invalid option
 */
export function projectionPlugins(given: ProjectionComponents, options: ProjectionOptions): readonly VolumePlugin[] {
  checkNumbers(options, { allocatableMemoryBytes: 'notNegative' });
  const components = withDefaults(given);
  return projectionsOf(components.sources).map((projection) => new ProjectionPlugin(components, options, projection));
}

/**
 * Plugin for one type of volume that the kubelet fills. The volume is read-only for containers; its files are collected
 * again at each sync of the pod and replaced atomically if any of them has changed. If the files cannot be collected,
 * the old files stay.
 */
class ProjectionPlugin implements VolumePlugin {
  readonly name: string;
  readonly refreshes = true;
  readonly #components: WithDefaults<ProjectionComponents>;
  readonly #options: ProjectionOptions;
  readonly #projection: Projection;
  readonly #directories: ScratchDirectories;
  readonly #writer: AtomicWriter;
  readonly #written: WrittenPayloads;
  /** Directories of volumes that this process has tried to set up. */
  readonly #tried = new Set<string>();
  readonly #nestedMounts = oncePer(nestedMounts);

  constructor(components: WithDefaults<ProjectionComponents>, options: ProjectionOptions, projection: Projection) {
    this.name = projection.name;
    this.#components = components;
    this.#options = options;
    this.#projection = projection;
    this.#directories = new ScratchDirectories(components);
    this.#writer = new AtomicWriter(components);
    this.#written = new WrittenPayloads(withDefaults(components));
  }

  canSupport({ volume }: VolumeSpec): boolean {
    return this.#projection.canSupport(volume);
  }

  unsupported(volume: Volume): string | undefined {
    const kinds = [...new Set(this.#projection.unsupported(volume))];
    if (kinds.length === 0) return undefined;
    return `volume ${volume.name}: projected source ${kinds.join(', ')} is not supported by this kubelet`;
  }

  async setUp(
    pod: Pod,
    { volume }: ResolvedVolume,
    { fsGroup: group }: MountContext,
    signal: AbortSignal,
  ): Promise<MountedVolume> {
    const unsupported = this.unsupported(volume);
    if (unsupported !== undefined) throw new VolumeError('UnsupportedVolume', unsupported);
    const paths = this.#pathsOf(pod.metadata.uid, volume.name);
    const { medium } = this.#projection;
    const fsGroup = group?.gid;
    const sizeBytes = memoryVolumeBytes(pod, volume, this.#options.allocatableMemoryBytes);
    const on = medium === 'Memory' ? { medium, sizeBytes } : { medium };
    const make = (): Promise<boolean> => this.#directories.make({ ...paths, ...on, fsGroup }, signal);
    // The mount takes about as long as a request to the API server, so at the first set-up both run in parallel.
    const making = medium === 'Memory' && !this.#tried.has(paths.directory) ? make() : undefined;
    this.#tried.add(paths.directory);
    const payload = await this.#collected(pod, volume, making, signal);
    const nested = nestedMountPoints(this.#nestedMounts(pod), volume.name);
    const digest = payloadDigest(payload, nested, fsGroup);
    const mounted = { hostPath: paths.directory, readOnly: true, selinuxRelabel: true };
    const holds = await this.#written.holds(paths.directory, digest);
    // A mount in progress is always awaited, so that the volume's directory cannot appear after this call has returned.
    if (making !== undefined || !holds) await (making ?? make());
    if (holds) return mounted;
    for (const path of nested) await this.#components.fs.mkdir(join(paths.directory, path), { mode: 0o755 });
    await this.#writer.write(paths.directory, payload, fsGroup);
    await this.#written.remember(paths.directory, digest);
    return mounted;
  }

  tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    const paths = this.#pathsOf(podUid, directoryName);
    this.#written.forget(paths.directory);
    this.#tried.delete(paths.directory);
    return this.#directories.remove(paths, signal);
  }

  usage({ hostPath }: MountedVolume): Promise<TreeUsage> {
    return this.#directories.usage(hostPath);
  }

  isRemoving(directoryName: string): boolean {
    return isRemovingName(directoryName);
  }

  /**
   * Collects the files. If a source is missing, the volume's directory is removed, so that a pod that waits for its
   * secret does not get an empty volume.
   * @param making creation of the volume's directory in progress; the caller handles its rejection
   */
  async #collected(
    pod: Pod,
    volume: Volume,
    making: Promise<boolean> | undefined,
    signal: AbortSignal,
  ): Promise<Payload> {
    const made = making?.catch(() => false);
    try {
      return await this.#projection.collect(pod, volume, signal);
    } catch (error) {
      const paths = this.#pathsOf(pod.metadata.uid, volume.name);
      // If the removal of the directory fails, the next attempt writes its files, or it is removed with its pod.
      if (await made) await this.#directories.remove(paths, signal).catch(() => undefined);
      throw error;
    }
  }

  #pathsOf(uid: string, name: string): ScratchPaths {
    const { paths } = this.#components;
    return {
      directory: paths.volumeDir(uid, this.name, name),
      stateDirectory: paths.pluginDir(uid, WRAPPED_PLUGIN, `wrapped_${name}`),
    };
  }
}
