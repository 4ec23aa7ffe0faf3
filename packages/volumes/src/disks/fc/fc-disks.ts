import { join } from 'node:path';
import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError } from '../../errors.ts';
import type { VolumeSpec } from '../../manager/resolved-volume.ts';
import { readDirectory } from '../../paths/volumes-on-disk.ts';
import type { DiskTools } from '../disk-tools.ts';
import { multipathOf } from '../multipath.ts';
import type { DiskSource, NetworkDisks } from '../network-disk.ts';
import { FC, type FcDisk, fcDiskOf, fcSource, formatFcFile, isPathOf, parseFcFile, requiredFcDisk } from './fc-disk.ts';

/** Dependencies of {@link FcDisks}. */
export interface FcDisksComponents {
  readonly fs: Pick<FileSystem, 'open' | 'readdir' | 'realpath' | 'writeFileAtomic'>;
  readonly tools: DiskTools;
  readonly logger: Logger;
}

const FILE = 'fc.json';
const LIMIT_BYTES = 64 * 1024;
const SCSI_HOSTS = '/sys/class/scsi_host';
const BY_PATH = '/dev/disk/by-path';
const BY_ID = '/dev/disk/by-id';

/** A path to a disk (`device`), and the multipath device that contains this path (`map`), if there is one. */
interface FcPath {
  readonly device: string;
  readonly map: string | undefined;
}

/**
 * Connects Fibre Channel disks (`pkg/volume/fc/fc_util.go`). If the kernel does not know a disk yet, all SCSI hosts are
 * scanned.
 */
export class FcDisks implements NetworkDisks {
  readonly plugin: string = FC;
  readonly #components: FcDisksComponents;

  constructor(components: FcDisksComponents) {
    this.#components = components;
  }

  source(spec: VolumeSpec): DiskSource | undefined {
    return fcSource(spec);
  }

  async connect(spec: VolumeSpec, _namespace: string, directory: string, signal: AbortSignal): Promise<string> {
    const disk = requiredFcDisk(spec);
    // Identifiers that contain hyphens cannot be recovered from the directory's name, so they are stored in a file.
    await this.#components.fs.writeFileAtomic(join(directory, FILE), formatFcFile(disk), { mode: 0o640 });
    let paths = await this.#pathsOf(disk);
    // The SCSI hosts are scanned only if no path of the disk belongs to a multipath device.
    if (paths.every(({ map }) => map === undefined)) {
      await this.#scan(signal);
      paths = await this.#pathsOf(disk);
    }
    const device = paths.find(({ map }) => map !== undefined)?.map ?? paths.at(-1)?.device;
    if (device === undefined) throw new VolumeError('MountFailed', 'no fc disk found');
    return device;
  }

  async disconnect([name = '']: readonly string[], directory: string, signal: AbortSignal): Promise<void> {
    const { tools } = this.#components;
    const paths = await this.#pathsOf((await this.#load(directory)) ?? fcDiskOf(name));
    for (const map of new Set(paths.map((path) => path.map).filter((found) => found !== undefined))) {
      const { exitCode, output } = await tools.run('multipath', ['-f', map], map, signal);
      if (exitCode !== 0) {
        throw new VolumeError('MountFailed', `fc: failed to flush multipath device ${map}: ${output}`);
      }
    }
    for (const { device } of paths) await this.#delete(device, signal);
  }

  /**
   * Returns the disk that {@link connect} stored in a directory; `undefined` for a disk that the Go kubelet connected.
   */
  async #load(directory: string): Promise<FcDisk | undefined> {
    const path = join(directory, FILE);
    const bytes = await readFileBounded(this.#components.fs, path, LIMIT_BYTES).catch((error: unknown) => {
      // Any other error is rethrown: without the file, the wrong disk could be disconnected.
      if (isMissing(error)) return undefined;
      throw error;
    });
    return bytes && parseFcFile(new TextDecoder().decode(bytes));
  }

  /** Flushes a disk and removes it from the kernel. A disk that cannot be flushed is removed nevertheless. */
  async #delete(device: string, signal: AbortSignal): Promise<void> {
    const { tools, logger } = this.#components;
    const { exitCode, output } = await tools.run('blockdev', ['--flushbufs', device], device, signal);
    if (exitCode !== 0) logger.warn({ device, exitCode, output }, 'Failed to flush a disk');
    await tools.write(`/sys/block/${device.slice('/dev/'.length)}/device/delete`, '1', signal);
  }

  /** Returns the paths to a disk that the kernel knows. */
  async #pathsOf(disk: FcDisk): Promise<readonly FcPath[]> {
    const { fs } = this.#components;
    const directory = 'wwns' in disk ? BY_PATH : BY_ID;
    const links = (await readDirectory(fs, directory)).map(({ name }) => name);
    const found = links.filter((link) =>
      'wwns' in disk
        ? disk.wwns.some((wwn) => isPathOf(link, wwn, disk.lun))
        : disk.wwids.some((wwid) => link === `scsi-${wwid}`),
    );
    const paths = new Map<string, FcPath>();
    for (const link of found) {
      // A link that was removed in the meantime is skipped.
      const device = await fs.realpath(join(directory, link)).catch(() => undefined);
      if (device !== undefined) paths.set(device, { device, map: await multipathOf(fs, device) });
    }
    return [...paths.values()];
  }

  /** Scans all SCSI hosts at once. A host that cannot be scanned is logged. */
  async #scan(signal: AbortSignal): Promise<void> {
    const { fs, tools, logger } = this.#components;
    const hosts = await readDirectory(fs, SCSI_HOSTS);
    const scan = (name: string): Promise<void> =>
      tools.write(`${SCSI_HOSTS}/${name}/scan`, '- - -', signal).catch((err: unknown) => {
        signal.throwIfAborted();
        logger.warn({ err, host: name }, 'Failed to scan a SCSI host');
      });
    await Promise.all(hosts.map(({ name }) => scan(name)));
  }
}
