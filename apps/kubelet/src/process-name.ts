import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';

const NAME = 'kubelet';

/**
 * Calls the process what people and programs look for: `pidof kubelet` and `pgrep kubelet` find it, and `ps` shows it with its
 * arguments, as upstream's; Node's own name and flags are not shown.
 * @param show takes the command line as it is to be seen: `process.title`, which has the kernel's name for the process as well
 */
export async function nameProcess(
  fs: Pick<FileSystem, 'writeFile'>,
  argv: readonly string[],
  show: (title: string) => void,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  show([NAME, ...argv].join(' '));
  try {
    // That name would have the first arguments in it, cut off after 15 characters.
    await fs.writeFile('/proc/self/comm', NAME);
  } catch (err) {
    logger.warn({ err }, 'Could not set the name of the process');
  }
}
