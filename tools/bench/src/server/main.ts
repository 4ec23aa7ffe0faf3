import { access } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { BUILT_KUBELET, inDirectoryOfItsOwn, runCommand } from '../command.ts';
import { takeSideBySide } from '../side-by-side.ts';
import { serverFigures, serverTable } from './figures.ts';
import { HELP, parseServerOptions } from './options.ts';
import { takeServerTurn } from './turn.ts';

/** What happens is told on the standard error stream: the standard output has the results only. */
function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

async function main(argv: readonly string[]): Promise<number> {
  const options = parseServerOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(BUILT_KUBELET);
  return inDirectoryOfItsOwn('na-bench-', async (directory, signal) => {
    const load = loadavg()[0] ?? 0;
    if (load > cpus().length / 2) say(`the machine is busy (load ${load.toFixed(1)}): only ratios will mean something`);
    const { ours, go } = await takeSideBySide(options, { directory, say }, (plan) =>
      takeServerTurn({ ...plan, options, say }, signal),
    );
    const figures = serverFigures(ours, go);
    const problems = [...ours, ...go].flatMap(({ exec, resource, cadvisor }) =>
      [exec, resource, cadvisor].flatMap(({ problem }) => problem ?? []),
    );
    for (const problem of new Set(problems)) say(problem);
    const all = { node: process.version, loadBefore: load, options, figures, measured: { ours, go } };
    process.stdout.write(options.json ? `${JSON.stringify(all, null, 2)}\n` : serverTable(figures));
    return 0;
  });
}

runCommand(main, say);
