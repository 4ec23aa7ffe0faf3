import { access } from 'node:fs/promises';
import { BUILT_KUBELET, inDirectoryOfItsOwn, machineLoad, runCommand, say } from '../command.ts';
import { takeSideBySide } from '../side-by-side.ts';
import { serverFigures, serverTable } from './figures.ts';
import { HELP, parseServerOptions } from './options.ts';
import { takeServerTurn } from './turn.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parseServerOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(BUILT_KUBELET);
  return inDirectoryOfItsOwn('na-bench-', async (directory, signal) => {
    const loadBefore = machineLoad(0.5);
    const { ours, go } = await takeSideBySide(options, { directory, say }, (plan) =>
      takeServerTurn({ ...plan, options, say }, signal),
    );
    const figures = serverFigures(ours, go);
    const problems = [...ours, ...go].flatMap(({ exec, resource, cadvisor }) =>
      [exec, resource, cadvisor].flatMap(({ problem }) => problem ?? []),
    );
    for (const problem of new Set(problems)) say(problem);
    const all = { node: process.version, loadBefore, options, figures, measured: { ours, go } };
    process.stdout.write(options.json ? `${JSON.stringify(all, null, 2)}\n` : serverTable(figures));
    return 0;
  });
}

runCommand(main, say);
