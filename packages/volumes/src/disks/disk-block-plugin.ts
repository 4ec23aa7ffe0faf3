import type { FileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import { type BlockMap, BlockMapper, type BlockMapperComponents } from '../block/block-mapper.ts';
import { BlockPaths } from '../block/block-paths.ts';
import { blockUsage } from '../block/block-usage.ts';
import { VolumeError } from '../errors.ts';
import type {
  MountedVolume,
  NodeVolumePlugin,
  UnansweredCall,
  VolumeMeasurement,
  VolumePlugin,
} from '../manager/plugin.ts';
import type { NodeVolume, ResolvedVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import type { UnansweredCalls } from '../manager/unanswered-calls.ts';
import type { MountContext } from '../mount/mount-context.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import type { DiskConnections } from './disk-connections.ts';
import { DiskDirectories } from './disk-directories.ts';
import { diskVolume, isOnDisk } from './disk-volume.ts';
import type { NetworkDisks } from './network-disk.ts';

/** Dependencies of {@link DiskBlockPlugin}. */
export interface DiskBlockComponents extends BlockMapperComponents {
  readonly fs: BlockMapperComponents['fs'] & Pick<FileSystem, 'open' | 'removeAll' | 'writeFileAtomic'>;
  readonly disks: Pick<NetworkDisks, 'plugin' | 'source'>;
  readonly connections: DiskConnections;
  readonly paths: Pick<PodPaths, 'pluginDataDir' | 'volumeDevicesDir'>;
  readonly calls: UnansweredCalls;
  /** See `NetworkDiskComponents`. Default: true. */
  readonly hasController?: boolean;
  readonly logger: Logger;
}

/**
 * Plugin for persistent volumes with `volumeMode: Block` on iSCSI and FC disks (`iscsiDiskMapper`, `fcDiskMapper`). A
 * disk is connected once for the node. The device of the disk is mapped for each pod below
 * `<root>/plugins/PLUGIN/volumeDevices`.
 */
export class DiskBlockPlugin implements VolumePlugin {
  readonly name: string;
  readonly isBlock = true;
  readonly node: NodeVolumePlugin;
  readonly #components: DiskBlockComponents;
  readonly #paths: BlockPaths;
  readonly #mapper: BlockMapper;
  readonly #directories: DiskDirectories;

  /** @param depth number of directories between `volumeDevices` and the directory of a disk */
  constructor(components: DiskBlockComponents, depth: number) {
    this.#components = components;
    this.name = components.disks.plugin;
    this.#paths = new BlockPaths(components.paths, this.name, this.name);
    this.#mapper = new BlockMapper(components);
    this.#directories = new DiskDirectories(components, this.#paths.nodeDir(), depth);
    this.node = {
      stage: (volume, signal) => this.#stage(volume, signal),
      unstage: (volume, signal) => this.#unstage(volume, signal),
      reconstruct: (podUid, directoryName) => this.#reconstruct(podUid, directoryName),
      staged: () => this.#staged(),
    };
  }

  canSupport(spec: VolumeSpec): boolean {
    return spec.persistent?.spec?.volumeMode === 'Block' && isOnDisk(this.#components.disks, spec);
  }

  async resolve(pod: Pod, spec: VolumeSpec): Promise<ResolvedVolume> {
    const { connections, hasController = true } = this.#components;
    return diskVolume(this.name, connections, hasController, pod, spec);
  }

  unanswered(_podUid: string, _directoryName: string, node: NodeVolume | undefined): UnansweredCall | undefined {
    return node && this.#components.calls.of(node.uniqueName);
  }

  async setUp(pod: Pod, volume: ResolvedVolume, _context: MountContext, signal: AbortSignal): Promise<MountedVolume> {
    const { connections } = this.#components;
    const { readOnly, directory } = connections.sourceOf(volume);
    const device = connections.deviceOf(volume.node?.uniqueName ?? '');
    if (device === undefined) throw new VolumeError('MountFailed', 'the disk is not connected any more');
    const podLink = this.#paths.podLink(pod.metadata.uid, volume.directoryName);
    const at: BlockMap = { mapDir: this.#paths.nodeDir(...directory), podUid: pod.metadata.uid, podLink };
    await this.#mapper.link(at, device);
    await this.#mapper.map(device, at, signal);
    return { hostPath: podLink, readOnly, selinuxRelabel: false };
  }

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    const mapDir = await this.#directories.find(({ name }) => name === directoryName);
    if (mapDir !== undefined) await this.#mapper.unmap({ mapDir, podUid }, signal);
    await this.#mapper.unlink({ podLink: this.#paths.podLink(podUid, directoryName) });
  }

  /** Returns the size of the device; `undefined` if it cannot be determined. */
  async usage({ hostPath }: MountedVolume): Promise<VolumeMeasurement | undefined> {
    return await blockUsage(this.#components.fs, hostPath);
  }

  isRemoving(): boolean {
    return false;
  }

  async #stage(volume: NodeVolume, signal: AbortSignal): Promise<void> {
    const { uniqueName, name, spec } = volume;
    if (spec === undefined) throw new VolumeError('InvalidSource', `source of volume ${name} is unknown`);
    const { connections } = this.#components;
    const directory = this.#paths.nodeDir(...connections.sourceOf(spec).directory);
    await this.#directories.make(directory, { uniqueName, name });
    await connections.connect(volume, spec, directory, signal);
  }

  async #unstage({ uniqueName }: NodeVolume, signal: AbortSignal): Promise<void> {
    const directory = await this.#directories.find((record) => record.uniqueName === uniqueName);
    if (directory === undefined) return;
    await this.#mapper.checkUnused(directory);
    const names = this.#directories.namesOf(directory);
    await this.#components.connections.disconnect(uniqueName, names, directory, signal);
    await this.#directories.remove(directory);
  }

  async #reconstruct(_podUid: string, directoryName: string): Promise<NodeVolume | undefined> {
    const directory = await this.#directories.find(({ name }) => name === directoryName);
    const record = directory === undefined ? undefined : await this.#directories.recordOf(directory);
    return record && { uniqueName: record.uniqueName, name: directoryName };
  }

  async #staged(): Promise<readonly NodeVolume[]> {
    const found: NodeVolume[] = [];
    await this.#directories.clean();
    for (const path of await this.#directories.all()) {
      const record = await this.#directories.recordOf(path);
      if (record !== undefined) found.push(record);
      else this.#components.logger.warn({ path }, 'Found a disk whose volume is unknown; it stays connected');
    }
    return found;
  }
}
