// `npm run test-v2`: the cgroup suite with both drivers on cgroup v2 and systemd, in a virtual machine.
//   test (or nothing)    builds the machine where there is none, and runs the suite in it
//   build                builds it alone
//   run 'COMMAND'        runs a command as root in a machine that is thrown away; --share DIRECTORY is /mnt/host there
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from './command.ts';
import { machineImage } from './disk.ts';
import { HOST_SHARE } from './guest.ts';
import { runInMachine } from './machine.ts';

const directory = join(import.meta.dirname, '..');
const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const onOutput = (bytes: Buffer): void => {
  process.stdout.write(bytes);
};
/** The suite takes half a minute on two idle CPUs. */
const TIMEOUT_MS = 600_000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { share: { type: 'string' } } });
const [what = 'test', command = ''] = positionals;
if (what === 'build') await machineImage(say);
else if (what === 'run') {
  const share = values.share ?? (await mkdtemp(join(tmpdir(), 'node-agent-share-')));
  process.exitCode = await runInMachine(await machineImage(say), command, { share, timeoutMs: TIMEOUT_MS, onOutput });
} else if (what === 'test') process.exitCode = await testInMachine();
else {
  say(`unknown command ${JSON.stringify(what)}; there are test, build and run`);
  process.exitCode = 2;
}

async function testInMachine(): Promise<number> {
  const image = await machineImage(say);
  await run('tsup', [], { cwd: directory });
  const share = join(directory, '.run/suite');
  await mkdir(share, { recursive: true });
  await copyFile(process.execPath, join(share, 'node'));
  await writeFile(join(share, 'package.json'), '{ "type": "module" }\n');
  const suite = `NO_COLOR=1 ${HOST_SHARE}/node --test-reporter=spec ${HOST_SHARE}/suite.js`;
  try {
    return await runInMachine(image, suite, { share, timeoutMs: TIMEOUT_MS, onOutput });
  } finally {
    await rm(share, { recursive: true, force: true });
  }
}
