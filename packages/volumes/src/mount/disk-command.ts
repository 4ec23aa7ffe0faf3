import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { LocalDevices } from '../claims/local-staging.ts';
import { VolumeError } from '../errors.ts';
import { CommandShell, type CommandShellOptions } from './command-shell.ts';
import { diskFormat, growCommand, isBroken, makeCommand, probeArguments } from './disk-format.ts';
import type { Mounter } from './mounter.ts';

/** Dependencies of {@link DiskCommand}. */
export interface DiskCommandComponents {
  readonly mounter: Pick<Mounter, 'mount'>;
  readonly clock?: Pick<Clock, 'setTimer'>;
  readonly logger?: Logger;
}

/** Maximum duration of formatting or checking a file system, in milliseconds. */
const DEADLINE_MS = 3_600_000;

/** File system type of an empty disk whose type is not declared. */
const DEFAULT_TYPE = 'ext4';

/**
 * Formats, checks and mounts disks with blkid(8), mkfs(8) and fsck(8), as upstream does (`SafeFormatAndMount` of
 * `k8s.io/mount-utils`). A disk is formatted only if it has no recognizable data.
 */
export class DiskCommand implements LocalDevices {
  readonly #components: WithDefaults<DiskCommandComponents>;
  readonly #shell: CommandShell;

  /**
   * @param options `maxAbandoned`: if so many killed commands have not exited, further commands are refused; default 16
   */
  constructor(given: DiskCommandComponents, options: Pick<CommandShellOptions, 'maxAbandoned'> = {}) {
    checkOptions('DiskCommand', options, { maxAbandoned: 'count?' });
    checkComponents('DiskCommand', given, { mounter: ['mount'] });
    this.#components = withDefaults(given);
    this.#shell = new CommandShell(this.#components, { deadlineMs: DEADLINE_MS, ...options });
  }

  async formatAndMount(
    device: string,
    target: string,
    fsType: string,
    options: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { mounter, logger } = this.#components;
    const isReadOnly = options.includes('ro');
    const format = diskFormat(device, await this.#run('blkid', probeArguments(device), signal, true));
    if (format === undefined && isReadOnly) {
      const why = 'as we are manipulating it in read-only mode';
      throw new VolumeError('MountFailed', `cannot mount unformatted disk ${device} ${why}`);
    }
    if (format === undefined) await this.#format(device, fsType || DEFAULT_TYPE, signal);
    const isAnother = format !== undefined && fsType !== '' && format !== fsType;
    if (isAnother) logger.warn({ device, fsType, format }, 'Disk has another file system type than declared');
    if (format !== undefined && !isReadOnly) await this.#check(device, signal);
    const type = fsType || (format === undefined ? DEFAULT_TYPE : 'auto');
    const mounting = mounter.mount(device, target, type, [...options, 'defaults'], signal);
    await (isAnother ? mounting.catch(asMismatch) : mounting);
  }

  async grow(device: string, target: string, signal: AbortSignal): Promise<void> {
    const format = diskFormat(device, await this.#run('blkid', probeArguments(device), signal, true));
    if (format === undefined) return;
    const [command, args] = growCommand(device, target, format);
    const { exitCode, output } = await this.#run(command, args, signal);
    if (exitCode === 0) return;
    const why = output || `exit code ${exitCode}`;
    throw new VolumeError('MountFailed', `resize of device ${device} failed: ${why}`);
  }

  async #format(device: string, fsType: string, signal: AbortSignal): Promise<void> {
    const [command, args] = makeCommand(device, fsType);
    this.#components.logger.info({ device, fsType }, 'Formatting an empty disk');
    const { exitCode, output } = await this.#run(command, args, signal);
    if (exitCode === 0) return;
    const why = `errcode:(${exitCode}) output:(${output})`;
    throw new VolumeError('MountFailed', `format of disk "${device}" failed: type:("${fsType}") ${why}`);
  }

  async #check(device: string, signal: AbortSignal): Promise<void> {
    const { exitCode, output } = await this.#run('fsck', ['-a', device], signal);
    if (exitCode === 0) return;
    if (isBroken(exitCode)) {
      const message = `'fsck' found errors on device ${device} but could not correct them: ${output}`;
      throw new VolumeError('MountFailed', message);
    }
    this.#components.logger.warn({ device, exitCode, output }, 'fsck reported problems of a disk');
  }

  async #run(
    command: string,
    args: readonly string[],
    signal: AbortSignal,
    alwaysTells = false,
  ): Promise<{ readonly exitCode: number; readonly output: string }> {
    // The last argument of each command is the disk or its mount point.
    const subject = args.at(-1);
    return await this.#shell.run(command, args, signal, { alwaysTells, subject }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new VolumeError('MountFailed', `${command} ${args.join(' ')} failed: ${errorText(error)}`, error);
    });
  }
}

function asMismatch(error: unknown): never {
  throw new VolumeError('FileSystemMismatch', errorText(error), error);
}
