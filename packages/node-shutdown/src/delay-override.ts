import type { FileSystem } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { NodeShutdownError } from './errors.ts';

const DIRECTORY = '/etc/systemd/logind.conf.d/';
const FILE = '99-kubelet.conf';

/** File operations for the override file below /etc. */
export type OverrideFiles = Pick<FileSystem, 'mkdir' | 'writeFileAtomic'>;

/** Returns the content of a logind configuration file that allows the given shutdown delay (logind.conf(5)). */
function delayOverride(delayMs: number): string {
  return `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.round(delayMs / 1000)}\n`;
}

/** Writes the override file to logind's configuration directory. @throws NodeShutdownError `Override` */
export async function writeDelayOverride(fs: OverrideFiles, delayMs: number): Promise<void> {
  await orElse(`failed creating ${DIRECTORY} directory`, () => fs.mkdir(DIRECTORY, { mode: 0o755 }));
  const path = `${DIRECTORY}${FILE}`;
  await orElse(`failed writing logind shutdown inhibit override file ${path}`, () =>
    fs.writeFileAtomic(path, delayOverride(delayMs), { mode: 0o644 }),
  );
}

async function orElse(failure: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (err) {
    const message = `unable to override inhibit delay by shutdown manager: ${failure}: ${errorText(err)}`;
    throw new NodeShutdownError('Override', message, { cause: err });
  }
}
