// `npm run test-v2`: tests that require cgroup v2 and systemd, in a virtual machine. `--help` lists the options.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineImage } from './disk.ts';
import { runInMachine } from './machine.ts';
import { HELP, type ParsedOptions, parseOptions } from './options.ts';
import { fillShare, type SuiteName, suiteCommand } from './share.ts';

const directory = join(import.meta.dirname, '..');
const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const onOutput = (bytes: Buffer): void => {
  process.stdout.write(bytes);
};
/** Time limit in ms. A suite takes some minutes on two idle CPUs and ten times as long on busy ones. */
const TIMEOUT_MS = 14_400_000;

const parsed = parseOrReport();
if (parsed?.what === 'help') process.stdout.write(HELP);
else if (parsed?.what === 'build') await machineImage(say);
else if (parsed?.what === 'run') {
  const share = parsed.share ?? (await mkdtemp(join(tmpdir(), 'node-agent-share-')));
  const image = await machineImage(say);
  process.exitCode = await runInMachine(image, parsed.command, { share, timeoutMs: TIMEOUT_MS, onOutput });
} else if (parsed?.what === 'test') process.exitCode = await testInMachine(parsed.suites);

/** Reports invalid options with a message instead of a stack trace. */
function parseOrReport(): ParsedOptions | undefined {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (err) {
    say(`${err instanceof Error ? err.message : err}\n\n${HELP}`);
    process.exitCode = 2;
    return undefined;
  }
}

async function testInMachine(names: readonly SuiteName[]): Promise<number> {
  const image = await machineImage(say);
  const share = join(directory, '.run', `share-${process.pid}`);
  await mkdir(share, { recursive: true });
  try {
    await fillShare(share, names, say);
    const options = { share, timeoutMs: TIMEOUT_MS, onOutput };
    const plain = names.filter((name) => name !== 'numa');
    const status = plain.length === 0 ? 0 : await runInMachine(image, suiteCommand(plain), options);
    if (plain.length === names.length) return status;
    return (await runInMachine(image, suiteCommand(['numa']), { ...options, numa: true })) || status;
  } finally {
    await rm(share, { recursive: true, force: true });
  }
}
