import { access } from 'node:fs/promises';
import { inDirectoryOfItsOwn, runCommand, say } from '../command.ts';
import { takeSideBySide } from '../side-by-side.ts';
import { pressureFigures, pressureTable } from './figures.ts';
import { HELP, parsePressureOptions } from './options.ts';
import { takePressureTurn } from './turn.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parsePressureOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(options.kubelet);
  return inDirectoryOfItsOwn('na-press-', async (directory, signal) => {
    const { kinds } = options;
    const { ours, go } = await takeSideBySide(options, { directory, say }, (plan) =>
      takePressureTurn({ ...plan, kinds, say }, signal),
    );
    const figures = pressureFigures(ours, go);
    process.stdout.write(options.json ? `${JSON.stringify(figures, null, 2)}\n` : pressureTable(figures));
    return 0;
  });
}

runCommand(main, say);
