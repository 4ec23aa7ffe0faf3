import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import { CommandShell } from '../mount/command-shell.ts';
import type { DriverResult } from './driver-status.ts';
import type { FlexPrograms } from './flex-driver.ts';

/** Maximum duration of a command, in milliseconds: a driver may format a disk (`waitForAttachTimeout`). */
const DEADLINE_MS = 600_000;
/** Number of hanging commands at which further commands are refused. */
const MAX_ABANDONED = 256;
/** Maximum size of a response: 1 MiB. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** Runs the programs of flexVolume drivers as children of a small shell, which can be killed with all their children. */
export class FlexVolumeCommand implements FlexPrograms {
  readonly #shell: CommandShell;

  /** @param options `deadlineMs`: time after which a program is killed, default 600,000 */
  constructor(components: { readonly clock: Pick<Clock, 'setTimer'> }, options: { readonly deadlineMs?: number } = {}) {
    checkOptions('FlexVolumeCommand', options, { deadlineMs: 'positive?' });
    checkComponents('FlexVolumeCommand', components, { clock: ['setTimer'] });
    const { deadlineMs = DEADLINE_MS } = options;
    this.#shell = new CommandShell(components, { deadlineMs, maxAbandoned: MAX_ABANDONED, killsChildren: true });
  }

  async run(path: string, args: readonly string[], subject: string, signal: AbortSignal): Promise<DriverResult> {
    return await this.#shell.run(path, args, signal, {
      ...{ alwaysTells: true, subject, maxOutputBytes: MAX_OUTPUT_BYTES },
    });
  }
}
