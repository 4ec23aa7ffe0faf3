import { access } from 'node:fs/promises';
import { findControlPlane } from '@node-agent/tools-control-plane';
import { inDirectoryOfItsOwn, machineLoad, runCommand, say } from '../command.ts';
import { type HollowFigures, hollowTable } from './figures.ts';
import { HELP, parseHollowOptions } from './options.ts';
import { HOLLOW_NODE, takeHollowTurn } from './turn.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parseHollowOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(HOLLOW_NODE);
  const found = await findControlPlane({ say });
  if ('reason' in found) throw new Error(found.reason);
  return inDirectoryOfItsOwn('na-bench-', async (directory, signal) => {
    const loadBefore = machineLoad(0.5);
    const figures: HollowFigures[] = [];
    for (const nodes of options.nodes) {
      figures.push(...(await takeHollowTurn({ binaries: found.binaries, directory, nodes, options, say }, signal)));
    }
    const all = { node: process.version, loadBefore, options, figures };
    process.stdout.write(options.json ? `${JSON.stringify(all, null, 2)}\n` : hollowTable(figures));
    return 0;
  });
}

runCommand(main, say);
