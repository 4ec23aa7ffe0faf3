import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ControlPlane, findControlPlane } from '@node-agent/tools-control-plane';
import type { BenchApi } from '../bench-node.ts';
import { BUILT_KUBELET, inDirectoryOfItsOwn, machineLoad, runCommand, say } from '../command.ts';
import { scaleMarkdown, scaleTables } from './figures.ts';
import { MemoryApi } from './memory-api.ts';
import { HELP, parseScaleOptions, type ScaleOptions } from './options.ts';
import { type ScaleTurn, takeScaleTurn } from './turn.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parseScaleOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(BUILT_KUBELET);
  return inDirectoryOfItsOwn('na-bench-', async (directory, signal) => {
    const loadBefore = machineLoad(0.5);
    const measured = await measure(options, directory, signal);
    const tables = Object.fromEntries(Object.entries(measured).map(([name, turns]) => [name, scaleTables(turns)]));
    if (options.json) {
      const all = { node: process.version, loadBefore, tables, measured };
      process.stdout.write(`${JSON.stringify(all, null, 2)}\n`);
    } else {
      const texts = Object.entries(tables).map(([name, all]) => scaleMarkdown(name, all));
      process.stdout.write(texts.join('\n'));
    }
    for (const target of tables[OURS]?.missed ?? []) say(`missed: ${target}`);
    return 0;
  });
}

const OURS = 'this kubelet';

/** Takes turns of the kubelets alternately. @returns the turns of each kubelet, by its name in the results */
async function measure(
  options: ScaleOptions,
  directory: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, readonly ScaleTurn[]>>> {
  const kubelets = new Map(options.onlyOther ? [] : [[OURS, BUILT_KUBELET]]);
  if (options.kubelet !== undefined) kubelets.set(options.kubelet, resolve(options.kubelet));
  await using stack = new AsyncDisposableStack();
  const api = await startApi(options, directory, stack);
  const turns = new Map<string, ScaleTurn[]>();
  for (let round = 0; round < options.rounds; round++) {
    for (const [index, [name, program]] of [...kubelets].entries()) {
      signal.throwIfAborted();
      const nodeName = `scale-${index}-${round}`;
      const plan = {
        options,
        api,
        onlyJson: options.memoryApi,
        program,
        nodeName,
        directory: join(directory, nodeName),
      };
      turns.set(name, [...(turns.get(name) ?? []), await takeScaleTurn({ ...plan, say }, signal)]);
    }
  }
  return Object.fromEntries(turns);
}

async function startApi(
  { memoryApi }: ScaleOptions,
  directory: string,
  stack: AsyncDisposableStack,
): Promise<BenchApi> {
  if (memoryApi) return stack.use(await MemoryApi.start(directory));
  const programs = await findControlPlane({ say });
  if ('reason' in programs) throw new Error(programs.reason);
  const controlPlane = new ControlPlane({ binaries: programs.binaries, directory: join(directory, 'control-plane') });
  stack.defer(() => controlPlane.stop());
  await controlPlane.start();
  return controlPlane;
}

runCommand(main, say);
