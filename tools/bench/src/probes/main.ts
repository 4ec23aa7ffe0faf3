import { access } from 'node:fs/promises';
import { BUILT_KUBELET, inDirectoryOfItsOwn, machineLoad, runCommand, say } from '../command.ts';
import { takeSideBySide } from '../side-by-side.ts';
import { probesFigures, probesTable } from './figures.ts';
import { HELP, parseProbesOptions } from './options.ts';
import { takeProbesTurn } from './turn.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parseProbesOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(BUILT_KUBELET);
  return inDirectoryOfItsOwn('na-bench-', async (directory, signal) => {
    const loadBefore = machineLoad(0.5);
    const measured = await takeSideBySide(options, { directory, say }, (plan) =>
      takeProbesTurn({ ...plan, options, say }, signal),
    );
    const figures = probesFigures(measured);
    const all = { node: process.version, loadBefore, options, figures, measured };
    process.stdout.write(options.json ? `${JSON.stringify(all, null, 2)}\n` : probesTable(figures));
    return 0;
  });
}

runCommand(main, say);
