import { access } from 'node:fs/promises';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { type Found, findContainerd, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { runBench } from './bench.ts';
import { BUILT_KUBELET, inDirectoryOfItsOwn, machineLoad, runCommand, say, subnetsForPods } from './command.ts';
import { figures } from './figures.ts';
import { type BenchOptions, HELP, parseOptions } from './options.ts';
import { jsonOf, tableOf } from './report.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const program = resolve(options.kubelet ?? BUILT_KUBELET);
  await access(program);
  const found = await findRuntime(options.runtime);
  if ('reason' in found) throw new Error(found.reason);
  const { binaries } = found;

  return inDirectoryOfItsOwn('na-bench-', async (directory, signal) => {
    const loadBefore = machineLoad(1);
    const subnets = subnetsForPods();
    const measured = await runBench(options, { binaries, program, directory, subnets, say }, signal);
    const result = figures(measured);
    const run = { containerd: binaries.version, node: process.version, cpus: cpus().length, loadBefore };
    process.stdout.write(options.json ? `${jsonOf(result, { ...run, measured })}\n` : tableOf(result));
    return 0;
  });
}

async function findRuntime(which: BenchOptions['runtime']): Promise<Found> {
  if (which === 'system') return findContainerd();
  const built = await findOrBuildContainerd24(say);
  if (which === '2.4' || 'binaries' in built) return built;
  say(`${built.reason}; using the machine's containerd`);
  return findContainerd();
}

runCommand(main, say);
