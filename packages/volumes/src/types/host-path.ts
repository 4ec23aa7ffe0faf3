import { dirname } from 'node:path';
import { checkComponents } from '@node-agent/async';
import { type FileKind, type ForeignFiles, isMissing } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import type { MountedVolume, VolumePlugin } from '../manager/plugin.ts';
import type { ResolvedVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import type { MountContext } from '../mount/mount-context.ts';

/** Action that the type of a host path requires: none, creating a directory or file, or refusing the volume. */
export type HostPathCheck =
  | { readonly action: 'none' | 'makeDirectory' | 'makeFile' }
  | { readonly action: 'refuse'; readonly message: string };

interface HostPathRule {
  readonly kind: FileKind;
  readonly words: string;
  readonly make?: 'makeDirectory' | 'makeFile';
}

const RULES: Readonly<Record<string, HostPathRule>> = {
  DirectoryOrCreate: { kind: 'directory', words: 'a directory', make: 'makeDirectory' },
  Directory: { kind: 'directory', words: 'a directory' },
  FileOrCreate: { kind: 'file', words: 'a file', make: 'makeFile' },
  File: { kind: 'file', words: 'a file' },
  Socket: { kind: 'socket', words: 'a socket file' },
  CharDevice: { kind: 'charDevice', words: 'a character device' },
  BlockDevice: { kind: 'blockDevice', words: 'a block device' },
};

/**
 * Decides what a `hostPath.type` requires (`pkg/volume/hostpath/host_path.go`). The empty type requires nothing.
 * @param found kind of the file at the path, with links followed; `undefined` if there is no file
 */
export function checkHostPath(path: string, type: string, found: FileKind | undefined): HostPathCheck {
  if (type === '') return { action: 'none' };
  const rule = Object.hasOwn(RULES, type) ? RULES[type] : undefined;
  if (rule === undefined) return { action: 'refuse', message: `${type} is an invalid volume type` };
  if (found === undefined && rule.make !== undefined) return { action: rule.make };
  if (found === rule.kind) return { action: 'none' };
  return { action: 'refuse', message: `hostPath type check failed: ${path} is not ${rule.words}` };
}

/** File operations that a host path needs on file systems that may hang. */
export type HostPathFiles = Pick<ForeignFiles, 'stat' | 'makeDirectory' | 'makeFile'>;

/**
 * Plugin for `hostPath` volumes of pods and of PVCs: a path of the host is shown to containers as it is. The content is
 * never removed. The file system may hang, so all access to it has a timeout (W6).
 */
export class HostPathPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/host-path';
  readonly #files: HostPathFiles;

  constructor(components: { readonly foreignFiles: HostPathFiles }) {
    checkComponents('HostPathPlugin', components, { foreignFiles: ['stat', 'makeDirectory', 'makeFile'] });
    this.#files = components.foreignFiles;
  }

  canSupport({ volume, persistent }: VolumeSpec): boolean {
    return (persistent?.spec?.hostPath ?? volume.hostPath) !== undefined;
  }

  async setUp(
    _pod: Pod,
    { volume, persistent, readOnly = false }: ResolvedVolume,
    _context: MountContext,
    signal: AbortSignal,
  ): Promise<MountedVolume> {
    const { path = '', type = '' } = persistent?.spec?.hostPath ?? volume.hostPath ?? {};
    if (path.split('/').includes('..')) {
      throw new VolumeError('InvalidPath', `invalid HostPath \`${path}\`: must not contain '..'`);
    }
    const check = checkHostPath(path, type, type === '' ? undefined : await this.#kindOf(path, signal));
    if (check.action === 'refuse') throw new VolumeError('TypeCheckFailed', check.message);
    if (check.action === 'makeDirectory') await this.#files.makeDirectory(path, 0o755, signal);
    if (check.action === 'makeFile') await this.#makeFile(path, signal);
    return { hostPath: path, readOnly, selinuxRelabel: false, foreign: true };
  }

  async tearDown(): Promise<void> {
    // A hostPath volume has no directory in the pod's directory.
  }

  isRemoving(): boolean {
    return false;
  }

  async #kindOf(path: string, signal: AbortSignal): Promise<FileKind | undefined> {
    try {
      return (await this.#files.stat(path, signal)).kind;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw VolumeError.from(error);
    }
  }

  async #makeFile(path: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#files.makeFile(path, signal);
    } catch (error) {
      const detail = isMissing(error) ? `: the directory ${dirname(path)} does not exist` : '';
      throw new VolumeError('TypeCheckFailed', `failed to create hostPath file ${path}${detail}`, error);
    }
  }
}
