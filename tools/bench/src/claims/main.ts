import { access } from 'node:fs/promises';
import { BUILT_KUBELET, inDirectoryOfItsOwn, machineLoad, runCommand, say } from '../command.ts';
import { type SideBySide, takeSideBySide } from '../side-by-side.ts';
import type { ClaimsPlan } from './claims-scene.ts';
import { faultFigures, faultTable } from './fault-figures.ts';
import { takeFaultsTurn } from './faults.ts';
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
    const turnsOf = <T>(take: (plan: ClaimsPlan, signal: AbortSignal) => Promise<T>): Promise<SideBySide<T>> =>
      takeSideBySide(options, { directory, say }, (plan) => take({ ...plan, options, say }, signal));
    const write = (
      results: { readonly figures: readonly object[]; readonly measured: object },
      table: string,
    ): void => {
      const all = { node: process.version, loadBefore, options, ...results };
      process.stdout.write(options.json ? `${JSON.stringify(all, null, 2)}\n` : table);
    };
    if (options.faults > 0) {
      const measured = await turnsOf(takeFaultsTurn);
      const figures = faultFigures(measured);
      write({ figures, measured }, faultTable(figures));
      return 0;
    }
    const measured = await turnsOf(takeClaimsTurn);
    const figures = claimsFigures(measured);
    write({ figures, measured }, claimsTable(figures));
    return 0;
  });
}

runCommand(main, say);
