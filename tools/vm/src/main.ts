// `npm run test-v2`: what takes cgroup v2 and systemd, in a virtual machine.
//   test [SUITE ...]     builds the machine where there is none, and runs suites in it: groups, pressure, kubelet (all by default), compare
//   build                builds it alone
//   run 'COMMAND'        runs a command as root in a machine that is thrown away; --share DIRECTORY is /mnt/host there
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { machineImage } from './disk.ts';
import { runInMachine } from './machine.ts';
import { fillShare, SUITES, type SuiteName, suiteCommand } from './share.ts';

const directory = join(import.meta.dirname, '..');
const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const onOutput = (bytes: Buffer): void => {
  process.stdout.write(bytes);
};
/** All of them take some minutes on two idle CPUs. */
const TIMEOUT_MS = 1_800_000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { share: { type: 'string' } } });
const [what = 'test', ...words] = positionals;
const [command = ''] = words;
if (what === 'build') await machineImage(say);
else if (what === 'run') {
  const share = values.share ?? (await mkdtemp(join(tmpdir(), 'node-agent-share-')));
  process.exitCode = await runInMachine(await machineImage(say), command, { share, timeoutMs: TIMEOUT_MS, onOutput });
} else if (what === 'test') process.exitCode = await testInMachine(suitesOf(words));
else {
  say(`unknown command ${JSON.stringify(what)}; there are test, build and run`);
  process.exitCode = 2;
}

async function testInMachine(names: readonly SuiteName[]): Promise<number> {
  const image = await machineImage(say);
  const share = join(directory, '.run', `share-${process.pid}`);
  await mkdir(share, { recursive: true });
  try {
    await fillShare(share, names, say);
    return await runInMachine(image, suiteCommand(names), { share, timeoutMs: TIMEOUT_MS, onOutput });
  } finally {
    await rm(share, { recursive: true, force: true });
  }
}

function suitesOf(words: readonly string[]): readonly SuiteName[] {
  const unknown = words.find((word) => !Object.hasOwn(SUITES, word));
  if (unknown !== undefined)
    throw new Error(`no suite ${JSON.stringify(unknown)}; there are ${Object.keys(SUITES).join(', ')}`);
  // Beside the Go kubelet only where that is asked for: it takes minutes more.
  return words.length === 0 ? ['groups', 'pressure', 'kubelet'] : (words as readonly SuiteName[]);
}
