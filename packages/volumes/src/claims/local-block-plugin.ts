import { checkComponents } from '@node-agent/async';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import { isMissing } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { type BlockMap, BlockMapper, type BlockMapperComponents } from '../block/block-mapper.ts';
import { BlockPaths } from '../block/block-paths.ts';
import { blockUsage } from '../block/block-usage.ts';
import { VolumeError } from '../errors.ts';
import type { MountedVolume, NodeVolumePlugin, VolumeMeasurement, VolumePlugin } from '../manager/plugin.ts';
import { type NodeVolume, podVolume, type ResolvedVolume, type VolumeSpec } from '../manager/resolved-volume.ts';
import type { MountContext } from '../mount/mount-context.ts';
import { escapePluginName, type PodPaths } from '../paths/pod-paths.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';
import { isReadWriteOncePod } from './claim-rule.ts';
import { LOCAL_VOLUME, localNodeVolume, localPath } from './local-volume-rule.ts';

/** Dependencies of {@link LocalBlockPlugin}. */
export interface LocalBlockComponents extends BlockMapperComponents {
  readonly fs: BlockMapperComponents['fs'] & Pick<FileSystem, 'open' | 'removeAll'>;
  readonly foreignFiles: Pick<ForeignFiles, 'stat'>;
  readonly paths: PodPaths;
}

/**
 * Plugin for local persistent volumes with `volumeMode: Block` (`localVolumeMapper` of `pkg/volume/local`): containers
 * get the disk as a device. All pods of the node share one directory, in which the disk is bind-mounted once for each
 * pod.
 */
export class LocalBlockPlugin implements VolumePlugin {
  readonly name: string = LOCAL_VOLUME;
  readonly isBlock = true;
  readonly node: NodeVolumePlugin;
  readonly #components: LocalBlockComponents;
  readonly #paths: BlockPaths;
  readonly #mapper: BlockMapper;

  constructor(components: LocalBlockComponents) {
    checkComponents('LocalBlockPlugin', components, {
      fs: ['mkdir', 'readdir', 'lstat', 'remove', 'realpath', 'symlink', 'readlink', 'writeFile', 'open', 'removeAll'],
      foreignFiles: ['stat'],
      mounter: ['bind', 'unmount'],
      loops: ['find', 'attach', 'detach'],
      paths: ['pluginDataDir', 'volumeDevicesDir'],
    });
    this.#components = components;
    // For local volumes, and only for them, upstream uses the escaped plugin name as directory name.
    this.#paths = new BlockPaths(components.paths, LOCAL_VOLUME, escapePluginName(LOCAL_VOLUME));
    this.#mapper = new BlockMapper(components);
    this.node = {
      stage: async () => {},
      unstage: (volume) => this.#removeMapDir(volume),
      reconstruct: async (_podUid, directoryName) => localNodeVolume(directoryName),
      staged: async () =>
        (await readDirectory(components.fs, this.#paths.nodeDir())).map(({ name }) => localNodeVolume(name)),
    };
  }

  canSupport({ persistent }: VolumeSpec): boolean {
    return persistent?.spec?.local !== undefined && persistent.spec.volumeMode === 'Block';
  }

  async resolve(_pod: Pod, spec: VolumeSpec): Promise<ResolvedVolume> {
    const resolved = podVolume(spec);
    const node = { ...localNodeVolume(resolved.directoryName), spec, exclusive: isReadWriteOncePod(spec) };
    return { ...resolved, node };
  }

  async setUp(pod: Pod, volume: ResolvedVolume, _context: MountContext, signal: AbortSignal): Promise<MountedVolume> {
    const { readOnly = false, directoryName } = volume;
    const device = localPath(volume);
    const kind = await this.#components.foreignFiles.stat(device, signal).then(
      (stat) => stat.kind,
      (error: unknown) => {
        if (isMissing(error)) return undefined;
        throw VolumeError.from(error);
      },
    );
    if (kind !== 'blockDevice') {
      const why = kind === undefined ? 'does not exist' : 'must be a block device';
      throw new VolumeError('TypeCheckFailed', `path "${device}" ${why}`, undefined, { effect: 'unchanged' });
    }
    const at = this.#mapOf(pod.metadata.uid, directoryName);
    await this.#mapper.link(at, device);
    await this.#mapper.map(device, at, signal);
    return { hostPath: at.podLink, readOnly, selinuxRelabel: false };
  }

  /**
   * Does nothing: the device has its new size already, so that only the PVC's status is updated (`NodeExpand` of
   * `pkg/volume/local`).
   */
  async expand(): Promise<void> {}

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    const at = this.#mapOf(podUid, directoryName);
    await this.#mapper.unmap(at, signal);
    await this.#mapper.unlink(at);
  }

  /** Returns the size of the device; `undefined` if it cannot be determined. */
  async usage({ hostPath }: MountedVolume): Promise<VolumeMeasurement | undefined> {
    return await blockUsage(this.#components.fs, hostPath);
  }

  isRemoving(): boolean {
    return false;
  }

  async #removeMapDir({ name }: NodeVolume): Promise<void> {
    const directory = this.#paths.nodeDir(name);
    await this.#mapper.checkUnused(directory);
    await this.#components.fs.removeAll(directory);
  }

  #mapOf(podUid: string, directoryName: string): BlockMap {
    return {
      ...{ mapDir: this.#paths.nodeDir(directoryName), podUid },
      podLink: this.#paths.podLink(podUid, directoryName),
    };
  }
}
