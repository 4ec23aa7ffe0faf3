import type { FileSystem } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';

/** Required values of kernel settings, by file below `/proc/sys` (`setupKernelTunables` in `pkg/kubelet/cm`). */
const EXPECTED: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

/**
 * Sets the kernel settings to their required values. With `protectKernelDefaults`, changes nothing and fails if a value
 * differs. A setting that cannot be changed, for example for lack of permissions, is logged.
 * @throws Error naming all settings that differ
 */
export async function adjustKernel(
  fs: Pick<FileSystem, 'readFile' | 'writeFile'>,
  isProtected: boolean,
  logger: Logger,
): Promise<void> {
  const problems: string[] = [];
  const unchanged: string[] = [];
  let cause: unknown;
  for (const [setting, expected] of Object.entries(EXPECTED)) {
    const path = `/proc/sys/${setting}`;
    try {
      const actual = Number(new TextDecoder().decode(await fs.readFile(path)));
      if (actual === expected) continue;
      if (isProtected) {
        problems.push(`invalid kernel flag: ${setting}, expected value: ${expected}, actual value: ${actual}`);
        continue;
      }
      logger.info({ setting, expected, actual }, 'Updating kernel flag');
      await fs.writeFile(path, String(expected));
    } catch (err) {
      if (isProtected) problems.push(errorText(err));
      else unchanged.push(`${setting}=${expected}`);
      cause = err;
    }
  }
  if (unchanged.length > 0) logger.warn({ err: cause, settings: unchanged }, 'Could not change kernel settings');
  if (problems.length > 0) throw new Error(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`);
}
