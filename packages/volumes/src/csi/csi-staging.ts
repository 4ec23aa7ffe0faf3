import { join } from 'node:path';
import { KeyedMutex } from '@node-agent/async';
import type { CsiDriverClient, CsiStageRequest } from '@node-agent/contracts';
import type { FileSystem } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import type { NodeVolumePlugin } from '../manager/plugin.ts';
import type { NodeVolume } from '../manager/resolved-volume.ts';
import { mountRefs } from '../mount/mount-refs.ts';
import { isMountPoint, type Mounter } from '../mount/mounter.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';
import { withLabel } from '../selinux/label-rule.ts';
import type { AttachLimit } from './attach-limit.ts';
import type { CsiCalls } from './csi-calls.ts';
import type { CsiIdentities } from './csi-identities.ts';
import type { CsiInputs } from './csi-inputs.ts';
import { CSI_PLUGIN, csiIdentity, csiUniqueName, handleHash } from './csi-names.ts';
import { type CsiPaths, GLOBAL_MOUNT } from './csi-paths.ts';
import { type CsiSource, csiAccessMode, csiSource } from './csi-source.ts';
import { removeMountDir } from './remove-mount-dir.ts';
import { readVolumeData, type VolumeData, writeVolumeData } from './volume-data.ts';

/** Dependencies of {@link CsiStaging}. */
export interface CsiStagingComponents {
  readonly fs: Pick<FileSystem, 'open' | 'mkdir' | 'readdir' | 'remove' | 'realpath' | 'writeFileAtomic'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'mountsOfSame'>;
  readonly logger: Logger;
  readonly paths: CsiPaths;
  readonly calls: CsiCalls;
  readonly inputs: CsiInputs;
  readonly attachLimit: AttachLimit;
  readonly identities: CsiIdentities;
}

/**
 * Stages and unstages persistent CSI volumes (`csiAttacher` of `pkg/volume/csi`): the driver stages the volume at
 * `<root>/plugins/kubernetes.io/csi/DRIVER/SHA256(handle)/globalmount`. A driver without the capability
 * `STAGE_UNSTAGE_VOLUME` stages nothing.
 */
export class CsiStaging implements NodeVolumePlugin {
  readonly #components: CsiStagingComponents;
  /** Held while the directory of a volume is created, or removed because it has no data file. By path. */
  readonly #directories = new KeyedMutex<string>();

  constructor(components: CsiStagingComponents) {
    this.#components = components;
  }

  async stage(volume: NodeVolume, signal: AbortSignal): Promise<void> {
    const { uniqueName, name, spec } = volume;
    if (spec === undefined) throw new VolumeError('InvalidSource', `source of volume ${name} is unknown`);
    const { calls, inputs } = this.#components;
    const source = csiSource(spec, undefined);
    const step = 'attacher.MountDevice failed';
    const csiDriver = await inputs.csiDriver(source.driver, step, signal);
    const publishContext = await inputs.publishContext(source, csiDriver, signal);
    const driver = calls.driver(source.driver, 'attacher.MountDevice failed to create newCsiDriverClient');
    const can = await calls.make(uniqueName, driver, 'NodeGetCapabilities', () => driver.capabilities(signal), signal);
    if (!can.stageUnstage) return;
    const secrets = await inputs.secrets(source.stageSecret, 'NodeStageSecretRef', signal);
    const { paths } = this.#components;
    const accessMode = csiAccessMode(source, can.singleNodeMultiWriter);
    const group = can.volumeMountGroup && volume.fsGroup !== undefined ? { volumeMountGroup: `${volume.fsGroup}` } : {};
    await this.#stage(driver, volume, source, signal, {
      ...{ volumeId: source.handle, publishContext, stagingTargetPath: paths.globalMount(source), secrets },
      capability: {
        access: {
          type: 'mount',
          fsType: source.fsType,
          mountFlags: withLabel(source.mountOptions, volume.selinuxLabel),
          ...group,
        },
        accessMode,
      },
      volumeContext: source.attributes,
      ...(source.isMigrated && { isMigrated: true }),
    });
  }

  async #stage(
    driver: CsiDriverClient,
    { uniqueName: key, selinuxLabel }: NodeVolume,
    source: CsiSource,
    signal: AbortSignal,
    request: CsiStageRequest,
  ): Promise<void> {
    const { fs, calls, paths, logger } = this.#components;
    const { stagingTargetPath: path } = request;
    const directory = paths.stagedVolumeDir(source);
    // The data file is written before the driver is called, so that the next kubelet process can unstage the volume.
    const record = async (): Promise<void> => {
      await fs.mkdir(path, { mode: 0o750 });
      await writeVolumeData(fs, directory, {
        driverName: source.driver,
        volumeHandle: source.handle,
        ...(selinuxLabel !== undefined && { seLinuxMountContext: selinuxLabel }),
      });
    };
    await this.#directories.run(directory, record, signal);
    try {
      await calls.make(key, driver, 'NodeStageVolume', () => driver.stageVolume(request, signal), signal);
    } catch (error) {
      if (VolumeError.is(error) && error.effect === 'none') {
        await removeMountDir(this.#components, path).catch((err: unknown) => {
          logger.warn({ err, path }, 'Failed to remove the directory of a volume that could not be staged');
        });
      }
      throw error;
    }
  }

  async unstage({ uniqueName }: NodeVolume, signal: AbortSignal): Promise<void> {
    const { calls, fs, paths } = this.#components;
    const identity = csiIdentity(uniqueName);
    const path = paths.globalMount(identity);
    const others = await mountRefs(this.#components, path);
    if (others.length > 0) {
      const why = `the device mount path ${JSON.stringify(path)} is still mounted by other references`;
      throw new VolumeError('StillMounted', `${why} [${others.join(' ')}]`);
    }
    // The data file shows here only that the volume may be staged. The content of the file is not needed, so a damaged
    // file is accepted.
    const data = await readVolumeData(fs, paths.stagedVolumeDir(identity)).catch(() => 'damaged' as const);
    if (data === undefined && !(await isMountPoint(this.#components, path))) {
      await removeMountDir(this.#components, path);
      return;
    }
    const driver = calls.driver(identity.driver, 'attacher.UnmountDevice failed to create newCsiDriverClient');
    const can = await calls.make(uniqueName, driver, 'NodeGetCapabilities', () => driver.capabilities(signal), signal);
    if (can.stageUnstage) {
      const call = (): Promise<void> => driver.unstageVolume(identity.handle, path, signal);
      await calls.make(uniqueName, driver, 'NodeUnstageVolume', call, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        const why = `${CSI_PLUGIN}: attacher.UnmountDevice failed: ${errorText(error)}`;
        throw new VolumeError('DriverFailed', why, error);
      });
    }
    await removeMountDir(this.#components, path);
  }

  isAttachable({ uniqueName }: NodeVolume): boolean {
    return this.#components.inputs.isAttached(csiIdentity(uniqueName).driver);
  }

  async isAttachLimitExceeded(volume: NodeVolume, signal: AbortSignal): Promise<boolean> {
    return await this.#components.attachLimit.isExceeded(volume, signal);
  }

  /**
   * Returns the node volume of a directory; `undefined` for an inline volume, which is not staged, and for a directory
   * without a mounted volume.
   */
  async reconstruct(podUid: string, directoryName: string): Promise<NodeVolume | undefined> {
    const { fs, paths, identities } = this.#components;
    const directory = paths.podVolumeDir(podUid, directoryName);
    const data = await readVolumeData(fs, directory).catch((error: unknown) => VolumeError.from(error));
    if (data === undefined || VolumeError.is(data)) {
      if (!(await isMountPoint(this.#components, paths.podMount(podUid, directoryName)))) return undefined;
      const identity = await identities.ofStaged(paths.podMount(podUid, directoryName));
      if (identity !== undefined) return { uniqueName: csiUniqueName(identity), name: directoryName };
      throw data ?? new VolumeError('InvalidSource', `${directory}: the volume data file is missing`);
    }
    if (data.volumeLifecycleMode === 'Ephemeral') return undefined;
    return nodeVolumeOf(data, directoryName);
  }

  /** Returns the staged volumes. A directory is kept and logged if its data file is damaged or names another volume. */
  async staged(): Promise<readonly NodeVolume[]> {
    const { fs, paths, logger } = this.#components;
    const found: NodeVolume[] = [];
    for (const { name: driver, kind } of await readDirectory(fs, paths.stagedDir)) {
      // Staged block volumes are below `volumeDevices` in a different layout.
      if (kind !== 'directory' || driver === 'volumeDevices') continue;
      for (const { name: hash } of await readDirectory(fs, join(paths.stagedDir, driver))) {
        const path = join(paths.stagedDir, driver, hash);
        try {
          const volume = await this.#directories.run(path, () => this.#identify(driver, hash, path));
          if (volume !== undefined) found.push(volume);
        } catch (err) {
          logger.warn({ err, path }, 'Failed to reconstruct a staged volume; its directory is kept');
        }
      }
    }
    return found;
  }

  /**
   * Returns the volume of a directory. Without a data file, the former process was killed before it called the driver,
   * and the directory is removed if it is empty. @throws VolumeError `InvalidSource`
   */
  async #identify(driver: string, hash: string, path: string): Promise<NodeVolume | undefined> {
    const data = await readVolumeData(this.#components.fs, path);
    if (data === undefined) {
      await removeMountDir(this.#components, join(path, GLOBAL_MOUNT));
      return undefined;
    }
    if (data.driverName !== driver || handleHash(data.volumeHandle) !== hash) {
      throw new VolumeError('InvalidSource', `${path}: the data file names another volume`);
    }
    return nodeVolumeOf(data, hash);
  }
}

function nodeVolumeOf(data: VolumeData, name: string): NodeVolume {
  const { driverName: driver, volumeHandle: handle, specVolID, seLinuxMountContext: selinuxLabel } = data;
  const uniqueName = csiUniqueName({ driver, handle });
  return { uniqueName, name: specVolID ?? name, ...(selinuxLabel !== undefined && { selinuxLabel }) };
}
