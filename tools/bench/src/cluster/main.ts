import { access, mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findOrBuildContainerd24, unmountBelow } from '@node-agent/tools-containerd';
import { ControlPlane, findControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { freeSubnets } from '../subnets.ts';
import { renderTable } from '../table.ts';
import { type ClusterFigure, clusterFigureMeetsTarget, clusterFigures, type Turn } from './figures.ts';
import { type ClusterBenchOptions, HELP, parseClusterOptions } from './options.ts';
import { topOfProfiles } from './profile.ts';
import { takeTurn } from './turn.ts';

const BUILT_KUBELET = fileURLToPath(new URL('../../../../apps/kubelet/dist/main.js', import.meta.url));

/** What happens is told on the standard error stream: the standard output has the results only. */
function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

async function main(argv: readonly string[]): Promise<number> {
  const options = parseClusterOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(BUILT_KUBELET);
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => controller.abort(new Error(`ended by ${name}`)));
  }
  const directory = await mkdtemp(join(tmpdir(), 'na-bench-'));
  const load = loadavg()[0] ?? 0;
  if (load > cpus().length / 2) say(`the machine is busy (load ${load.toFixed(1)}): only ratios will mean something`);
  try {
    const { ours, go } = await turns(options, directory, controller.signal);
    const figures = clusterFigures(ours, go);
    if (options.json) {
      process.stdout.write(
        `${JSON.stringify({ node: process.version, loadBefore: load, figures, ours, go }, null, 2)}\n`,
      );
    } else {
      process.stdout.write(tableOf(figures));
    }
    const missed = figures.some((figure) => clusterFigureMeetsTarget(figure) === false);
    if (missed && options.profiles !== undefined) say(await topOfProfiles(options.profiles));
    return 0;
  } finally {
    // Volumes in memory of pods that a kubelet had no time to take away.
    await unmountBelow(directory);
    await rm(directory, { recursive: true, force: true });
  }
}

async function turns(
  options: ClusterBenchOptions,
  directory: string,
  signal: AbortSignal,
): Promise<{ readonly ours: readonly Turn[]; readonly go: readonly Turn[] }> {
  const runtime = await findOrBuildContainerd24(say);
  if ('reason' in runtime) throw new Error(runtime.reason);
  const programs = await findControlPlane({ say });
  if ('reason' in programs) throw new Error(programs.reason);
  const upstream = options.alone ? undefined : await findUpstreamKubelet({ say });
  if (upstream !== undefined && 'reason' in upstream) throw new Error(upstream.reason);

  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  const [first, second] = freeSubnets(process.pid, addresses);
  const controlPlane = new ControlPlane({ binaries: programs.binaries, directory: join(directory, 'control-plane') });
  const ours: Turn[] = [];
  const go: Turn[] = [];
  await controlPlane.start();
  try {
    for (let round = 0; round < options.rounds; round++) {
      const common = { options, controlPlane, binaries: runtime.binaries, say };
      const place = (name: string) => ({ nodeName: `${name}-${round}`, directory: join(directory, `${name}${round}`) });
      if (upstream !== undefined) {
        const { kubelet } = upstream.binaries;
        go.push(await takeTurn({ ...common, ...place('go'), program: kubelet, subnet: first }, signal));
      }
      const { profiles } = options;
      ours.push(
        await takeTurn({ ...common, ...place('ours'), program: BUILT_KUBELET, subnet: second, profiles }, signal),
      );
    }
  } finally {
    await controlPlane.stop();
  }
  return { ours, go };
}

function tableOf(figures: readonly ClusterFigure[]): string {
  return renderTable(
    ['figure', 'Go', 'this', 'ratio', 'target', ''],
    figures.map((figure) => [
      `${figure.name} [${figure.unit}]`,
      rounded(figure.go),
      rounded(figure.ours),
      rounded(figure.ratio),
      figure.target === undefined ? '' : `<= ${rounded(figure.target)}`,
      { true: 'ok', false: 'MISS', undefined: '' }[`${clusterFigureMeetsTarget(figure)}`],
    ]),
  );
}

/** Three digits that matter. */
function rounded(value: number | undefined): string {
  if (value === undefined) return '';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  },
);
