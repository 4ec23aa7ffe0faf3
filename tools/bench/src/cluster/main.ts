import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { type ContainerdBinaries, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { ControlPlane, findControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { BUILT_KUBELET, inDirectoryOfItsOwn, machineLoad, runCommand, say, subnetsForPods } from '../command.ts';
import { ratioMeetsTarget } from '../target.ts';
import { takeBareTurn } from './bare-turn.ts';
import { type Bare, clusterFigures, type Turn } from './figures.ts';
import { type ClusterBenchOptions, HELP, parseClusterOptions } from './options.ts';
import { topOfProfiles } from './profile.ts';
import { measureStorm } from './storm.ts';
import { type Storm, stormFigures } from './storm-figures.ts';
import { clusterTable, type OtherFigures, stormTable } from './tables.ts';
import { takeTurn } from './turn.ts';

async function main(argv: readonly string[]): Promise<number> {
  const options = parseClusterOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  for (const program of [BUILT_KUBELET, ...options.others.map((other) => other.program)]) {
    await access(program, program.endsWith('.js') ? constants.R_OK : constants.X_OK);
  }
  return inDirectoryOfItsOwn('na-bench-', async (directory, signal) => {
    const loadBefore = machineLoad(0.5);
    const results = await measure(options, directory, signal);
    const { ours, go, bare, others, storm } = results;
    const figures = ours.length === 0 ? [] : clusterFigures(ours, go, bare);
    const compared: readonly OtherFigures[] = others.map(({ name, turns }) => ({
      name,
      figures: clusterFigures(turns, go, bare),
    }));
    const ofStorm = storm === undefined ? [] : stormFigures(storm.ours, storm.go);
    if (options.json) {
      const all = { node: process.version, loadBefore, figures, others: compared, storm: ofStorm, measured: results };
      process.stdout.write(`${JSON.stringify(all, null, 2)}\n`);
    } else {
      if (figures.length > 0) process.stdout.write(clusterTable(figures, compared));
      if (figures.length > 0 && ofStorm.length > 0) process.stdout.write('\n');
      if (ofStorm.length > 0) process.stdout.write(stormTable(ofStorm));
    }
    const missed = [...figures.map(ratioMeetsTarget), ...ofStorm.map(({ meets }) => meets)].includes(false);
    if (missed && options.profiles !== undefined) say(await topOfProfiles(options.profiles));
    return 0;
  });
}

interface Results {
  readonly ours: readonly Turn[];
  readonly go: readonly Turn[];
  readonly bare: readonly Bare[];
  readonly others: readonly { readonly name: string; readonly turns: Turn[] }[];
  readonly storm: { readonly ours: Storm; readonly go: Storm | undefined } | undefined;
}

/** Programs and subnets for all measurements. */
interface Machine {
  /** Programs of the runtime. If `undefined`, a runtime in memory is used. */
  readonly binaries: ContainerdBinaries | undefined;
  /** Path of the Go kubelet, if it is measured, too. */
  readonly upstream: string | undefined;
  /** Pod subnet of each kubelet. */
  readonly subnets: { readonly ours: string; readonly go: string };
}

async function measure(options: ClusterBenchOptions, directory: string, signal: AbortSignal): Promise<Results> {
  const runtime = options.fakeRuntime ? undefined : await findOrBuildContainerd24(say);
  if (runtime && 'reason' in runtime) throw new Error(runtime.reason);
  const upstream = options.alone ? undefined : await findUpstreamKubelet({ say });
  if (upstream !== undefined && 'reason' in upstream) throw new Error(upstream.reason);
  const [go, ours] = subnetsForPods();
  const machine = { binaries: runtime?.binaries, upstream: upstream?.binaries.kubelet, subnets: { ours, go } };
  const compared = options.onlyStorm
    ? { ours: [], go: [], bare: [], others: [] }
    : await turns(options, machine, directory, signal);
  const { binaries } = machine;
  if (options.stormSeconds === 0 || binaries === undefined) return { ...compared, storm: undefined };
  return { ...compared, storm: await storms(options, { ...machine, binaries }, directory, signal) };
}

async function turns(
  options: ClusterBenchOptions,
  { binaries, upstream, subnets }: Machine,
  directory: string,
  signal: AbortSignal,
): Promise<Omit<Results, 'storm'>> {
  const programs = await findControlPlane({ say });
  if ('reason' in programs) throw new Error(programs.reason);
  const controlPlane = new ControlPlane({ binaries: programs.binaries, directory: join(directory, 'control-plane') });
  const ours: Turn[] = [];
  const go: Turn[] = [];
  const bare: Bare[] = [];
  const others = options.others.map(({ name, program }) => ({ name, program, turns: [] as Turn[] }));
  await controlPlane.start();
  try {
    for (let round = 0; round < options.rounds; round++) {
      signal.throwIfAborted();
      const common = { options, controlPlane, binaries, say };
      const place = (name: string) => ({ nodeName: `${name}-${round}`, directory: join(directory, `${name}${round}`) });
      if (binaries !== undefined) {
        bare.push(await takeBareTurn({ ...common, binaries, ...place('bare'), subnet: subnets.ours }, signal));
      }
      if (upstream !== undefined) {
        go.push(await takeTurn({ ...common, ...place('go'), program: upstream, subnet: subnets.go }, signal));
      }
      const { profiles } = options;
      ours.push(
        await takeTurn({ ...common, ...place('ours'), program: BUILT_KUBELET, subnet: subnets.ours, profiles }, signal),
      );
      for (const [index, { program, turns }] of others.entries()) {
        turns.push(await takeTurn({ ...common, ...place(`other-${index}`), program, subnet: subnets.ours }, signal));
      }
    }
  } finally {
    await controlPlane.stop();
  }
  return { ours, go, bare, others };
}

async function storms(
  options: ClusterBenchOptions,
  { binaries, upstream, subnets }: Machine & { readonly binaries: ContainerdBinaries },
  directory: string,
  signal: AbortSignal,
): Promise<NonNullable<Results['storm']>> {
  const common = { binaries, seconds: options.stormSeconds, say };
  const place = (name: string) => ({ nodeName: `storm-${name}`, directory: join(directory, `storm-${name}`) });
  const go =
    upstream === undefined
      ? undefined
      : await measureStorm({ ...common, ...place('go'), program: upstream, subnet: subnets.go }, signal);
  const { profiles } = options;
  const mine = { ...common, ...place('ours'), program: BUILT_KUBELET, subnet: subnets.ours, profiles };
  return { ours: await measureStorm(mine, signal), go };
}

runCommand(main, say);
