import { type Clock, checkComponents } from '@node-agent/async';
import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { errorText, withDefaults } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { CommandShell } from '../mount/command-shell.ts';

/**
 * Port to the loop devices of this machine. A loop device holds a block device open, so that the kernel cannot remove
 * it and give its name to another device while a pod uses it.
 */
export interface LoopDevices {
  /** Returns the loop device that is attached to a path; `undefined` if there is none. */
  find(path: string): Promise<string | undefined>;
  /** Sets up a loop device for a path. @throws VolumeError `MountFailed` */
  attach(path: string, signal: AbortSignal): Promise<void>;
  /** Removes a loop device, for example `/dev/loop3`. @throws VolumeError `MountFailed` */
  detach(device: string, signal: AbortSignal): Promise<void>;
}

/** Dependencies of {@link LoopCommand}. */
export interface LoopCommandComponents {
  readonly fs: Pick<FileSystem, 'readdir' | 'open' | 'realpath' | 'exists'>;
  readonly clock?: Pick<Clock, 'setTimer'>;
}

const BLOCK_DEVICES = '/sys/block';
/** Maximum size of a `backing_file` that is read: it holds a path of at most 4,096 bytes. */
const LIMIT_BYTES = 8192;

/** Manages loop devices with losetup(8) and /sys, as upstream does (`pkg/volume/util/volumepathhandler`). */
export class LoopCommand implements LoopDevices {
  readonly #components: LoopCommandComponents;
  readonly #shell: CommandShell;

  constructor(components: LoopCommandComponents) {
    checkComponents('LoopCommand', components, { fs: ['readdir', 'open', 'realpath', 'exists'] });
    this.#components = components;
    this.#shell = new CommandShell(withDefaults(components));
  }

  async find(path: string): Promise<string | undefined> {
    const { fs } = this.#components;
    const real = await fs.realpath(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (real === undefined) return undefined;
    for (const { name } of await fs.readdir(BLOCK_DEVICES)) {
      if (!name.startsWith('loop')) continue;
      const file = `${BLOCK_DEVICES}/${name}/loop/backing_file`;
      // `backing_file` does not exist if nothing is attached to the loop device, or if the device is being removed.
      const bytes = await readFileBounded(fs, file, LIMIT_BYTES).catch(() => undefined);
      const backing = backingPath(new TextDecoder().decode(bytes));
      if (backing === path || backing === real) return `/dev/${name}`;
    }
    return undefined;
  }

  async attach(path: string, signal: AbortSignal): Promise<void> {
    await this.#run(['-f', path], signal);
  }

  async detach(device: string, signal: AbortSignal): Promise<void> {
    await this.#run(['-d', device], signal).catch(async (error: unknown) => {
      if (await this.#components.fs.exists(device)) throw error;
    });
  }

  async #run(args: readonly string[], signal: AbortSignal): Promise<void> {
    const failed = (why: string, cause?: unknown): VolumeError =>
      new VolumeError('MountFailed', `losetup ${args.join(' ')} failed: ${why}`, cause);
    const { exitCode, output } = await this.#shell.run('losetup', args, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw failed(errorText(error), error);
    });
    if (exitCode !== 0) throw failed(output || `exit code ${exitCode}`);
  }
}

/**
 * Returns the path in the content of a `backing_file`, without the note `(deleted)` that the kernel appends for a
 * removed file.
 */
export function backingPath(text: string): string {
  return text
    .trim()
    .replace(/\(deleted\)$/, '')
    .trim();
}
