// `npm run test-v2`: tests that require cgroup v2 and systemd, in a virtual machine. `--help` lists the options.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { machineImage } from './disk.ts';
import { runInMachine } from './machine.ts';
import { HELP, type ParsedOptions, parseOptions, type SpecOptions } from './options.ts';
import type { NumaMachine } from './qemu.ts';
import { fillShare, SPECS, type SuiteName, suiteCommand } from './share.ts';

const directory = join(import.meta.dirname, '..');
const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const onOutput = (bytes: Buffer): void => {
  process.stdout.write(bytes);
};
/** Time limit in ms. A suite takes some minutes on two idle CPUs and ten times as long on busy ones. */
const TIMEOUT_MS = 14_400_000;
/** Machines of the suites that need several NUMA nodes. */
const NUMA_SUITES: Partial<Readonly<Record<SuiteName, NumaMachine>>> = {
  numa: { coresPerSocket: 2, nodeMegabytes: 1536 },
  // Some specs need four cores in a socket, or more than eight CPUs.
  'e2e-node': { coresPerSocket: 4, nodeMegabytes: 2048, countsInstructions: true },
};

const parsed = parseOrReport();
if (parsed?.what === 'help') process.stdout.write(HELP);
else if (parsed?.what === 'build') await machineImage(say);
else if (parsed?.what === 'run') {
  const share = parsed.share ?? (await mkdtemp(join(tmpdir(), 'node-agent-share-')));
  const image = await machineImage(say);
  process.exitCode = await runInMachine(image, parsed.command, { share, timeoutMs: TIMEOUT_MS, onOutput });
} else if (parsed?.what === 'test') process.exitCode = await testInMachine(parsed.suites, parsed.specs);

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

async function testInMachine(names: readonly SuiteName[], specs: SpecOptions | undefined): Promise<number> {
  const image = await machineImage(say);
  const share = join(directory, '.run', `share-${process.pid}`);
  await mkdir(share, { recursive: true });
  try {
    await fillShare(share, names, say);
    const options = { share, timeoutMs: TIMEOUT_MS, onOutput };
    if (specs !== undefined) await writeFile(join(share, SPECS), JSON.stringify(specs));
    const plain = names.filter((name) => NUMA_SUITES[name] === undefined);
    let status = plain.length === 0 ? 0 : await runInMachine(image, suiteCommand(plain), options);
    for (const name of names) {
      const numa = NUMA_SUITES[name];
      if (numa === undefined) continue;
      const results = name === 'e2e-node' ? await resultsDirectory(specs) : undefined;
      const last = await runInMachine(image, suiteCommand([name]), { ...options, numa, ...(results && { results }) });
      status = last || status;
    }
    return status;
  } finally {
    await rm(share, { recursive: true, force: true });
  }
}

/** Empties and returns the directory for the results of upstream's specs. */
async function resultsDirectory(specs: SpecOptions | undefined): Promise<string> {
  const results = resolve(specs?.output ?? join(directory, '../../.reports/vm/e2e-node'));
  await rm(results, { recursive: true, force: true });
  await mkdir(results, { recursive: true });
  say(`reports and logs: ${results}`);
  return results;
}
