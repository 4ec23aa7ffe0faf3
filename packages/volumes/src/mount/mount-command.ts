import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import { type FileSystem, NewestMountTable } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { CommandShell, type CommandShellOptions } from './command-shell.ts';
import { mountsOfSame } from './mount-refs.ts';
import { type Mounter, readMountInfo } from './mounter.ts';

/** Mounts with mount(8) and umount(8), as upstream does (`k8s.io/mount-utils`). Linux only; requires CAP_SYS_ADMIN. */
export class MountCommand implements Mounter {
  readonly #fs: Pick<FileSystem, 'readFile'>;
  readonly #shell: CommandShell;
  readonly #tables = new NewestMountTable();

  /** @param options limits of the commands */
  constructor(
    components: { readonly fs: Pick<FileSystem, 'readFile'>; readonly clock: Pick<Clock, 'setTimer'> },
    options: CommandShellOptions = {},
  ) {
    checkOptions('MountCommand', options, {
      deadlineMs: 'positive?',
      maxAbandoned: 'count?',
      killsChildren: 'boolean?',
    });
    checkComponents('MountCommand', components, { fs: ['readFile'], clock: ['setTimer'] });
    this.#fs = components.fs;
    this.#shell = new CommandShell(components, options);
  }

  async mountPoints(): Promise<ReadonlyMap<string, string>> {
    return this.#tables.of(await readMountInfo(this.#fs)).types;
  }

  async mountsOfSame(path: string): Promise<readonly string[]> {
    return mountsOfSame(await readMountInfo(this.#fs), path);
  }

  async takesLabels(path: string): Promise<boolean> {
    return this.#tables.of(await readMountInfo(this.#fs)).of(path)?.takesLabels ?? false;
  }

  mount(
    source: string,
    target: string,
    fsType: string,
    options: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const optionArguments = options.length > 0 ? ['-o', options.join(',')] : [];
    return this.#run('mount', ['-t', fsType, ...optionArguments, '--', source, target], signal);
  }

  bind(source: string, target: string, signal: AbortSignal): Promise<void> {
    // `--no-canonicalize` keeps the handle as the source: mount(8) would otherwise resolve it to a path that may have
    // been replaced.
    return this.#run('mount', ['--no-canonicalize', '-o', 'bind', '--', source, target], signal);
  }

  rebind(source: string, target: string, options: readonly string[], signal: AbortSignal): Promise<void> {
    const all = ['bind', 'remount', ...options].join(',');
    return this.#run('mount', ['--no-canonicalize', '-o', all, '--', source, target], signal);
  }

  /**
   * Bind-mounts a directory on itself, including mounts below it, and makes that mount shared. @throws VolumeError
   * `MountFailed`
   */
  async shareOnItself(directory: string, signal: AbortSignal): Promise<void> {
    await this.#run('mount', ['-o', 'rbind', '--', directory, directory], signal);
    try {
      await this.#run('mount', ['--make-rshared', '--', directory], signal);
    } catch (error) {
      // The mount is removed, so that retries do not stack mounts.
      await this.unmount(directory, signal, { lazy: true }).catch(() => undefined);
      throw error;
    }
  }

  async unmount(
    target: string,
    signal: AbortSignal,
    { lazy = false, force = false }: { readonly lazy?: boolean; readonly force?: boolean } = {},
  ): Promise<void> {
    // If the mount were not private, mounts below `target` would be unmounted in all peers that share them
    // (mount_namespaces(7)).
    if (lazy) await this.#run('mount', ['--make-rprivate', '--', target], signal);
    await this.#run('umount', [...(lazy ? ['--lazy'] : []), ...(force ? ['--force'] : []), '--', target], signal);
  }

  async #run(command: string, args: readonly string[], signal: AbortSignal): Promise<void> {
    const failed = (why: string, cause?: unknown): VolumeError =>
      new VolumeError('MountFailed', `${command} ${args.join(' ')} failed: ${why}`, cause);
    // The last argument of each command is the mount point.
    const subject = args.at(-1);
    const { exitCode, output } = await this.#shell.run(command, args, signal, { subject }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw failed(errorText(error), error);
    });
    if (exitCode !== 0) throw failed(output || `exit code ${exitCode}`);
  }
}
