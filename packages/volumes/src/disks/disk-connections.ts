import type { ForeignFiles } from '@node-agent/host';
import { VolumeError } from '../errors.ts';
import type { NodeVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import type { UnansweredCalls } from '../manager/unanswered-calls.ts';
import type { DiskSource, NetworkDisks } from './network-disk.ts';

/** Dependencies of {@link DiskConnections}. */
export interface DiskConnectionsComponents {
  readonly disks: NetworkDisks;
  readonly foreignFiles: Pick<ForeignFiles, 'isDeviceInUse'>;
  readonly calls: UnansweredCalls;
}

/** Connects and disconnects the disks of one kind, for mounted and for block volumes. */
export class DiskConnections {
  readonly #components: DiskConnectionsComponents;
  /** Paths of the devices that this process connected, by unique name. */
  readonly #devices = new Map<string, string>();

  constructor(components: DiskConnectionsComponents) {
    this.#components = components;
  }

  /** Returns the disk that a volume refers to. @throws VolumeError */
  sourceOf(spec: VolumeSpec): DiskSource {
    const { disks } = this.#components;
    const source = disks.source(spec);
    if (source !== undefined) return source;
    throw new VolumeError('InvalidSource', `volume is not of type ${disks.plugin}`);
  }

  /** Returns the device path of a connected disk; `undefined` if a former process connected the disk. */
  deviceOf(uniqueName: string): string | undefined {
    return this.#devices.get(uniqueName);
  }

  /** Connects a disk and returns the path of its device. @throws VolumeError */
  async connect(
    { uniqueName, namespace = '' }: NodeVolume,
    spec: VolumeSpec,
    directory: string,
    signal: AbortSignal,
  ): Promise<string> {
    const { disks, calls } = this.#components;
    const what = `connection of disk ${this.sourceOf(spec).uniqueName}`;
    const connect = (): Promise<string> => disks.connect(spec, namespace, directory, signal);
    const device = await calls.during(uniqueName, what, connect);
    this.#devices.set(uniqueName, device);
    return device;
  }

  /**
   * Disconnects a disk. @param names `DiskSource.directory` of the disk. @throws VolumeError `StillMounted` if the
   * device still exists and is in use (upstream: `isDeviceOpened`); a controller must not detach the disk then
   */
  async disconnect(
    uniqueName: string,
    names: readonly string[],
    directory: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { disks, calls, foreignFiles } = this.#components;
    const device = this.#devices.get(uniqueName);
    await calls.during(uniqueName, 'disconnection of the disk', () => disks.disconnect(names, directory, signal));
    if (device !== undefined && (await foreignFiles.isDeviceInUse(device, signal))) {
      const why = 'the device is in use when it was no longer expected to be in use';
      throw new VolumeError('StillMounted', `UnmountDevice failed for volume "${uniqueName}" : ${why}`);
    }
    this.#devices.delete(uniqueName);
  }
}
