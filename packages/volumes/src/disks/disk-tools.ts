import { type Clock, checkComponents } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { type CommandResult, CommandShell } from '../mount/command-shell.ts';

/** Port that runs the tools for connecting disks. */
export interface DiskTools {
  /**
   * Runs a tool and waits until it exits. @param subject object that the tool acts on, for example a target; another
   * tool for this subject is refused while a killed tool has not exited. @throws VolumeError `MountFailed` if the tool
   * did not finish in time; the signal's reason
   */
  run(command: string, args: readonly string[], subject: string, signal: AbortSignal): Promise<CommandResult>;
  /**
   * Writes a text to a file of /sys; the kernel may need long for the requested action. @throws VolumeError
   * `MountFailed`
   */
  write(path: string, text: string, signal: AbortSignal): Promise<void>;
}

/** Maximum duration of a command, in milliseconds: `iscsiadm` tries to log in for two minutes. */
const DEADLINE_MS = 180_000;
/** Number of hanging commands at which further commands are refused. */
const MAX_ABANDONED = 256;

/** Runs the tools as children of a small shell, so that a tool that hangs occupies no thread of this process (W6). */
export class DiskToolCommand implements DiskTools {
  readonly #shell: CommandShell;

  constructor(components: { readonly clock: Pick<Clock, 'setTimer'> }) {
    checkComponents('DiskToolCommand', components, { clock: ['setTimer'] });
    const limits = { deadlineMs: DEADLINE_MS, maxAbandoned: MAX_ABANDONED, killsChildren: true };
    this.#shell = new CommandShell(components, limits);
  }

  async run(command: string, args: readonly string[], subject: string, signal: AbortSignal): Promise<CommandResult> {
    return await this.#shell.run(command, args, signal, { alwaysTells: true, subject }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new VolumeError('MountFailed', `${command} failed: ${errorText(error)}`, error);
    });
  }

  async write(path: string, text: string, signal: AbortSignal): Promise<void> {
    const { exitCode, output } = await this.run('sh', ['-c', 'printf %s "$1" > "$0"', path, text], path, signal);
    if (exitCode !== 0) throw new VolumeError('MountFailed', `write ${path} failed: ${output}`);
  }
}
