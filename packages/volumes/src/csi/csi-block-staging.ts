import { join } from 'node:path';
import { KeyedMutex } from '@node-agent/async';
import type { CsiDriverClient } from '@node-agent/contracts';
import { type FileSystem, isMissing } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { BlockMapper } from '../block/block-mapper.ts';
import type { BlockPaths } from '../block/block-paths.ts';
import { VolumeError } from '../errors.ts';
import type { NodeVolumePlugin } from '../manager/plugin.ts';
import type { NodeVolume } from '../manager/resolved-volume.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';
import type { AttachLimit } from './attach-limit.ts';
import type { CsiCalls } from './csi-calls.ts';
import type { CsiInputs } from './csi-inputs.ts';
import { attachmentName, CSI_PLUGIN, csiIdentity, csiUniqueName } from './csi-names.ts';
import { csiAccessMode, csiSource } from './csi-source.ts';
import { codeOf } from './driver-codes.ts';
import { unpublishBlock } from './unpublish-block.ts';
import { readVolumeData, type VolumeData, writeVolumeData } from './volume-data.ts';

/** Dependencies of {@link CsiBlockStaging}. */
export interface CsiBlockStagingComponents {
  readonly fs: Pick<
    FileSystem,
    'open' | 'mkdir' | 'readdir' | 'remove' | 'removeAll' | 'realpath' | 'writeFileAtomic' | 'exists'
  >;
  readonly logger: Logger;
  readonly paths: BlockPaths;
  readonly calls: CsiCalls;
  readonly inputs: CsiInputs;
  readonly attachLimit: AttachLimit;
  readonly mapper: BlockMapper;
}

/** Names below `volumeDevices` that are not directories of one volume. */
const SHARED = new Set(['staging', 'publish']);

/** Stages and unstages CSI block volumes (`SetUpDevice`, `TearDownDevice` of `pkg/volume/csi/csi_block.go`). */
export class CsiBlockStaging implements NodeVolumePlugin {
  readonly #components: CsiBlockStagingComponents;
  readonly #nodeName: string;
  /** Held while the directories of a volume are created, or removed because they have no data file. */
  readonly #directories = new KeyedMutex<string>();

  constructor(components: CsiBlockStagingComponents, nodeName: string) {
    this.#components = components;
    this.#nodeName = nodeName;
  }

  async stage({ uniqueName, name, spec }: NodeVolume, signal: AbortSignal): Promise<void> {
    if (spec === undefined) throw new VolumeError('InvalidSource', `source of volume ${name} is unknown`);
    const { calls, inputs, fs, paths } = this.#components;
    const source = csiSource(spec, undefined);
    const step = 'blockMapper.SetUpDevice failed';
    const csiDriver = await inputs.csiDriver(source.driver, step, signal);
    const publishContext = await inputs.publishContext(source, csiDriver, signal);
    const driver = calls.driver(source.driver, `${step} to get CSI client`);
    const can = await calls.make(uniqueName, driver, 'NodeGetCapabilities', () => driver.capabilities(signal), signal);
    const secrets = can.stageUnstage
      ? await inputs.secrets(source.stageSecret, 'NodeStageSecretRef', signal, `${CSI_PLUGIN}:`)
      : {};
    const dataDir = paths.nodeDir(name, 'data');
    const data: VolumeData = {
      ...{ specVolID: name, volumeHandle: source.handle, driverName: source.driver, nodeName: this.#nodeName },
      attachmentID: attachmentName(source, this.#nodeName),
    };
    const record = async (): Promise<void> => {
      await fs.mkdir(dataDir, { mode: 0o750 });
      await writeVolumeData(fs, dataDir, data);
    };
    await this.#directories.run(name, record, signal);
    if (!can.stageUnstage) return;
    const stagingTargetPath = paths.nodeDir('staging', name);
    await fs.mkdir(stagingTargetPath, { mode: 0o750 });
    const accessMode = csiAccessMode(source, can.singleNodeMultiWriter);
    const request = {
      ...{ volumeId: source.handle, publishContext, stagingTargetPath, secrets, volumeContext: source.attributes },
      capability: { access: { type: 'block' } as const, accessMode },
      ...(source.isMigrated && { isMigrated: true }),
    };
    try {
      await calls.make(uniqueName, driver, 'NodeStageVolume', () => driver.stageVolume(request, signal), signal);
    } catch (error) {
      if (VolumeError.is(error) && error.effect === 'none') await this.#tryRemove(name);
      throw error;
    }
  }

  async unstage({ uniqueName, name }: NodeVolume, signal: AbortSignal): Promise<void> {
    const { calls, fs, paths, mapper } = this.#components;
    const { driver: driverName, handle } = csiIdentity(uniqueName);
    await mapper.checkUnused(paths.nodeDir(name, 'dev'));
    const driver = calls.driver(driverName, 'blockMapper.TearDownDevice failed to get CSI client');
    await this.#unpublishLeft(driver, { uniqueName, name }, handle, signal);
    const path = paths.nodeDir('staging', name);
    if (await fs.exists(path)) {
      await this.#unstage(driver, uniqueName, handle, path, signal);
      await fs.removeAll(path);
    }
    await this.#remove(name);
  }

  isAttachable({ uniqueName }: NodeVolume): boolean {
    return this.#components.inputs.isAttached(csiIdentity(uniqueName).driver);
  }

  async isAttachLimitExceeded(volume: NodeVolume, signal: AbortSignal): Promise<boolean> {
    return await this.#components.attachLimit.isExceeded(volume, signal);
  }

  async reconstruct(_podUid: string, directoryName: string): Promise<NodeVolume | undefined> {
    const data = await readVolumeData(this.#components.fs, this.#components.paths.nodeDir(directoryName, 'data'));
    return data && nodeVolumeOf(data, directoryName);
  }

  async staged(): Promise<readonly NodeVolume[]> {
    const { fs, paths, logger } = this.#components;
    const found: NodeVolume[] = [];
    for (const { name } of await readDirectory(fs, paths.nodeDir())) {
      if (SHARED.has(name)) continue;
      try {
        const volume = await this.#directories.run(name, () => this.#identify(name));
        if (volume !== undefined) found.push(volume);
      } catch (err) {
        logger.warn({ err, volume: name }, 'Failed to reconstruct a staged block volume; its directory is kept');
      }
    }
    return found;
  }

  /**
   * Returns the volume of a directory. Without a data file, the former kubelet process was killed before its first or
   * after its last call for the volume, and the directory is removed.
   */
  async #identify(name: string): Promise<NodeVolume | undefined> {
    const { fs, paths } = this.#components;
    const data = await readVolumeData(fs, paths.nodeDir(name, 'data'));
    if (data !== undefined) return nodeVolumeOf(data, name);
    await this.#removeUnused(name);
    return undefined;
  }

  async #unstage(
    driver: CsiDriverClient,
    key: string,
    handle: string,
    path: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { calls } = this.#components;
    const can = await calls.make(key, driver, 'NodeGetCapabilities', () => driver.capabilities(signal), signal);
    if (!can.stageUnstage) return;
    const call = (): Promise<void> => driver.unstageVolume(handle, path, signal);
    await calls.make(key, driver, 'NodeUnstageVolume', call, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      const why = `${CSI_PLUGIN}: blockMapper.unstageVolumeForBlock failed: ${errorText(error)}`;
      throw new VolumeError('DriverFailed', why, error);
    });
  }

  /**
   * Unpublishes the volume from pods whose links are lost. The pod's link shows the next kubelet process that the pod has
   * the volume. A power failure may lose the link and keep the published file. Upstream does not find the volume then,
   * because it reads only the pods' directories.
   *
   * A driver that does not know the volume any more (`NOT_FOUND`) has nothing to unpublish: its file is removed here. A
   * file that is still a mount point cannot be removed, so the volume then stays staged.
   */
  async #unpublishLeft(
    driver: CsiDriverClient,
    { uniqueName, name }: NodeVolume,
    handle: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { fs, paths } = this.#components;
    for (const { name: podUid } of await readDirectory(fs, paths.nodeDir('publish', name))) {
      // The pods that wait for this call are those that wait for the volume to be unstaged.
      const published = { podUid, name, handle, key: uniqueName };
      await unpublishBlock(this.#components, driver, published, signal).catch((error: unknown) => {
        if (!VolumeError.is(error) || codeOf(error) !== 'NOT_FOUND') throw error;
      });
      await removeIfThere(fs, paths.nodeDir('publish', name, podUid));
    }
  }

  /**
   * Removes the directories of a volume that no pod uses. The data file is removed last, because the next kubelet
   * process finds the volume by this file (`cleanupOrphanDeviceFiles`).
   */
  async #remove(name: string): Promise<void> {
    const { fs, paths } = this.#components;
    for (const path of [paths.nodeDir('publish', name), paths.nodeDir('staging', name)]) {
      await removeIfThere(fs, path);
    }
    await fs.removeAll(join(paths.nodeDir(name), 'dev'));
    await fs.removeAll(paths.nodeDir(name));
  }

  async #removeUnused(name: string): Promise<void> {
    await this.#components.mapper.checkUnused(this.#components.paths.nodeDir(name, 'dev'));
    await this.#remove(name);
  }

  async #tryRemove(volume: string): Promise<void> {
    await this.#remove(volume).catch((err: unknown) => {
      this.#components.logger.warn({ err, volume }, 'Failed to remove the directories of a block volume');
    });
  }
}

/** Removes a file or an empty directory. @throws a system error, for example ENOTEMPTY */
async function removeIfThere(fs: Pick<FileSystem, 'remove'>, path: string): Promise<void> {
  await fs.remove(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}

function nodeVolumeOf({ driverName: driver, volumeHandle: handle }: VolumeData, name: string): NodeVolume {
  return { uniqueName: csiUniqueName({ driver, handle }), name };
}
