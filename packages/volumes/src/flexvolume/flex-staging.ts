import type { FileSystem, ForeignFiles } from '@node-agent/host';
import type { LocalDevices } from '../claims/local-staging.ts';
import { VolumeError } from '../errors.ts';
import type { NodeVolumePlugin } from '../manager/plugin.ts';
import type { NodeVolume } from '../manager/resolved-volume.ts';
import { isMountPoint, type Mounter } from '../mount/mounter.ts';
import { takeAway } from '../mount/take-away.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';
import { NOT_SUPPORTED } from './driver-status.ts';
import type { FlexDriver } from './flex-driver.ts';
import { type FlexPaths, hasEntry } from './flex-paths.ts';
import { driverOptions, requiredFlexSource } from './flex-source.ts';
import { removeMountPoint } from './remove-mount-point.ts';

/** Dependencies of {@link FlexStaging}. */
export interface FlexStagingComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'remove' | 'realpath'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'unmount'>;
  /** Mounts disks for drivers that support attach but not mount. */
  readonly devices: Pick<LocalDevices, 'formatAndMount' | 'grow'> | undefined;
  readonly paths: FlexPaths;
  readonly driver: FlexDriver;
  readonly foreignFiles: Pick<ForeignFiles, 'isDeviceInUse'>;
  /** Returns the device path of an attached volume, from `volumesAttached` in the node's status. */
  readonly devicePath: (uniqueName: string) => string | undefined;
}

/**
 * Stages and unstages the volumes of a driver that attaches volumes (`flexVolumeAttacher`, `flexVolumeDetacher` of
 * `pkg/volume/flexvolume`). The kubelet performs the steps that a driver does not implement.
 */
export class FlexStaging implements NodeVolumePlugin {
  readonly #components: FlexStagingComponents;
  /** Device paths that the driver returned from `waitforattach`, by volume name. */
  readonly #found = new Map<string, string>();

  constructor(components: FlexStagingComponents) {
    this.#components = components;
  }

  async stage({ uniqueName, name, spec }: NodeVolume, signal: AbortSignal): Promise<void> {
    if (spec === undefined) throw new VolumeError('InvalidSource', `source of volume ${name} is unknown`);
    const { driver, fs, paths, devicePath } = this.#components;
    const source = requiredFlexSource(spec);
    const options = driverOptions(source);
    const path = paths.deviceDir(name);
    const attached = devicePath(uniqueName) ?? '';
    const waited = await driver.call('waitforattach', [attached, options], path, signal);
    const device = waited === NOT_SUPPORTED ? attached : waited.device;
    this.#found.set(name, device);
    if (await isMountPoint(this.#components, path)) return;
    await fs.mkdir(path, { mode: 0o750 });
    const mounted = await driver.call('mountdevice', [path, device, options], path, signal);
    // Without a device, the volume is not on a disk, so there is nothing for the kubelet to mount.
    if (mounted !== NOT_SUPPORTED || device === '') return;
    const { devices } = this.#components;
    if (devices === undefined) throw new VolumeError('UnsupportedVolume', `cannot mount disk ${device}`);
    await devices.formatAndMount(device, path, source.fsType, [source.readOnly ? 'ro' : 'rw'], signal);
  }

  /** Returns the device path of a volume; '' if it is not known. */
  deviceOf({ uniqueName, name }: NodeVolume): string {
    return this.#found.get(name) ?? this.#components.devicePath(uniqueName) ?? '';
  }

  /**
   * Unmounts the volume from the node. @throws VolumeError `StillMounted` if the volume's device is still in use; a
   * controller must not detach the volume then
   */
  async unstage(volume: NodeVolume, signal: AbortSignal): Promise<void> {
    await this.#unmount(volume, signal);
    const device = this.deviceOf(volume);
    if (device !== '' && (await this.#components.foreignFiles.isDeviceInUse(device, signal))) {
      const why = 'the device is in use when it was no longer expected to be in use';
      throw new VolumeError('StillMounted', `UnmountDevice failed for volume "${volume.name}" : ${why}`);
    }
    this.#found.delete(volume.name);
  }

  async #unmount({ name }: NodeVolume, signal: AbortSignal): Promise<void> {
    const { driver, fs, paths } = this.#components;
    const path = paths.deviceDir(name);
    if (!(await hasEntry(fs, path))) return;
    if (await isMountPoint(this.#components, path)) {
      const unmounted = await driver.call('unmountdevice', [path], path, signal);
      if (unmounted === NOT_SUPPORTED) await takeAway(this.#components, path, signal);
    }
    await removeMountPoint(this.#components, path);
  }

  async reconstruct(_podUid: string, directoryName: string): Promise<NodeVolume | undefined> {
    const { fs, paths } = this.#components;
    return (await hasEntry(fs, paths.deviceDir(directoryName))) ? this.nodeVolume(directoryName) : undefined;
  }

  async staged(): Promise<readonly NodeVolume[]> {
    const { fs, paths } = this.#components;
    return (await readDirectory(fs, paths.devicesDir)).map(({ name }) => this.nodeVolume(name));
  }

  nodeVolume(name: string): NodeVolume {
    return { uniqueName: `${this.#components.driver.name}/${name}`, name };
  }
}
