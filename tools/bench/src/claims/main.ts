import { access } from 'node:fs/promises';
import { BUILT_KUBELET, inDirectoryOfItsOwn, machineLoad, runCommand, say } from '../command.ts';
import { takeSideBySide } from '../side-by-side.ts';
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
    const measured = await takeSideBySide(options, { directory, say }, (plan) =>
      takeClaimsTurn({ ...plan, options, say }, signal),
    );
    const figures = claimsFigures(measured);
    const all = { node: process.version, loadBefore, options, figures, measured };
    process.stdout.write(options.json ? `${JSON.stringify(all, null, 2)}\n` : claimsTable(figures));
    return 0;
  });
}

runCommand(main, say);
