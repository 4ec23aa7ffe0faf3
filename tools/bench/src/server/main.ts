import { access } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { ControlPlane, findControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { BUILT_KUBELET, inDirectoryOfItsOwn, runCommand, subnetsForPods } from '../command.ts';
import { serverFigures, serverTable } from './figures.ts';
import { HELP, parseServerOptions, type ServerBenchOptions } from './options.ts';
import { type ServerTurn, takeServerTurn } from './turn.ts';

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
    const { ours, go } = await turns(options, directory, signal);
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

async function turns(
  options: ServerBenchOptions,
  directory: string,
  signal: AbortSignal,
): Promise<{ readonly ours: readonly ServerTurn[]; readonly go: readonly ServerTurn[] }> {
  const runtime = await findOrBuildContainerd24(say);
  if ('reason' in runtime) throw new Error(runtime.reason);
  const upstream = options.alone ? undefined : await findUpstreamKubelet({ say });
  if (upstream !== undefined && 'reason' in upstream) throw new Error(upstream.reason);
  const programs = await findControlPlane({ say });
  if ('reason' in programs) throw new Error(programs.reason);
  const controlPlane = new ControlPlane({ binaries: programs.binaries, directory: join(directory, 'control-plane') });
  const [goSubnet, subnet] = subnetsForPods();
  const [ours, go]: [ServerTurn[], ServerTurn[]] = [[], []];
  await controlPlane.start();
  try {
    for (let round = 0; round < options.rounds; round++) {
      const common = { options, controlPlane, binaries: runtime.binaries, say };
      const place = (name: string) => ({ nodeName: `${name}-${round}`, directory: join(directory, `${name}${round}`) });
      if (upstream !== undefined) {
        const program = upstream.binaries.kubelet;
        go.push(await takeServerTurn({ ...common, ...place('go'), program, subnet: goSubnet }, signal));
      }
      const { profiles } = options;
      ours.push(
        await takeServerTurn({ ...common, ...place('ours'), program: BUILT_KUBELET, subnet, profiles }, signal),
      );
    }
  } finally {
    await controlPlane.stop();
  }
  return { ours, go };
}

runCommand(main, say);
