import { access } from 'node:fs/promises';
import { BUILT_KUBELET, inDirectoryOfItsOwn, machineLoad, runCommand, say } from '../command.ts';
import { takeSideBySide, withBothKubelets } from '../side-by-side.ts';
import { faultFigures, faultTable } from './fault-figures.ts';
import { takeFaults } from './faults.ts';
import { claimsFigures, claimsTable } from './figures.ts';
import { HELP, parseClaimsOptions } from './options.ts';
import { takeClaimsTurn } from './turn.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parseClaimsOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(options.kubelet ?? BUILT_KUBELET);
  return inDirectoryOfItsOwn('na-claims-', async (directory, signal) => {
    const loadBefore = machineLoad(0.5);
    const write = (
      results: { readonly figures: readonly object[]; readonly measured: object },
      table: string,
    ): void => {
      const all = { node: process.version, loadBefore, options, ...results };
      process.stdout.write(options.json ? `${JSON.stringify(all, null, 2)}\n` : table);
    };
    if (options.faults > 0) {
      const measured = await withBothKubelets(options, { directory, say }, (both) =>
        takeFaults(both, options, say, signal),
      );
      const figures = faultFigures(measured);
      write({ figures, measured }, faultTable(figures));
      return 0;
    }
    const measured = await takeSideBySide(options, { directory, say }, (plan) =>
      takeClaimsTurn({ ...plan, options, say }, signal),
    );
    const figures = claimsFigures(measured);
    write({ figures, measured }, claimsTable(figures));
    return 0;
  });
}

runCommand(main, say);
