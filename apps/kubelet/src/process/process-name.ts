import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';

const NAME = 'kubelet';

/**
 * Names the process `kubelet`, so that `pidof kubelet` and `pgrep kubelet` find it. `ps` shows `kubelet` with its
 * arguments, as for upstream's kubelet, without Node's name and flags.
 * @param show sets the visible command line (`process.title`, which also sets the kernel's name of the process)
 */
export async function nameProcess(
  fs: Pick<FileSystem, 'writeFile'>,
  argv: readonly string[],
  show: (title: string) => void,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  show([NAME, ...argv].join(' '));
  try {
    // `process.title` also sets the kernel's process name to the command line, cut to 15 characters; this write sets it
    // to `kubelet` only.
    await fs.writeFile('/proc/self/comm', NAME);
  } catch (err) {
    logger.warn({ err }, 'Could not set the process name');
  }
}
