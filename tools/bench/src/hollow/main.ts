import { access } from 'node:fs/promises';
import { inDirectoryOfItsOwn, machineLoad, runCommand, say } from '../command.ts';
import { hollowApis } from './api.ts';
import { type HollowFigures, hollowTable } from './figures.ts';
import { HELP, parseHollowOptions } from './options.ts';
import { HOLLOW_NODE, hollowTurn } from './turn.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parseHollowOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(HOLLOW_NODE);
  const startApi = await hollowApis(options, say);
  return inDirectoryOfItsOwn('na-bench-', async (directory, signal) => {
    const loadBefore = machineLoad(0.5);
    const figures: HollowFigures[] = [];
    try {
      for (const nodes of options.nodes) {
        const turn = hollowTurn({ startApi, directory, nodes, options, say }, signal);
        for await (const step of turn) figures.push(step);
      }
    } finally {
      // If a step fails because it is too much for the machine, the results of the earlier steps are still printed.
      const all = { node: process.version, loadBefore, options, figures };
      process.stdout.write(options.json ? `${JSON.stringify(all, null, 2)}\n` : hollowTable(figures));
    }
    return 0;
  });
}

runCommand(main, say);
