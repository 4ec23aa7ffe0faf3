import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { BUILT_KUBELET, inDirectoryOfItsOwn, runCommand, sleep, subnetsForPods, until } from '@node-agent/tools-bench';
import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { ControlPlane, findControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { inBatches, merged } from './batches.ts';
import { type Case, csi, topics } from './cases/index.ts';
import { type Comparison, compare } from './compare.ts';
import { createCsiDrivers } from './csi/drivers.ts';
import { HELP, parseCompareOptions } from './options.ts';
import { report } from './report.ts';
import { settled } from './settling.ts';
import { type Found, Side } from './side.ts';

/** Writes progress to the standard error stream. The standard output contains only the differences. */
function say(text: string): void {
  process.stderr.write(`compare: ${text}\n`);
}

/** Maximum number of pods per batch: on two cores, each kubelet starts about 50 pods in half a minute. */
const AT_ONCE = 50;

/**
 * Times of the wait until the number of started pods settles. Together with the pods' running time they stay below 123
 * s, because a kubelet then reports a failed wait for volumes again.
 */
const SETTLING = { everyMs: 1_000, quietMs: 10_000, mostMs: 45_000 };

async function main(argv: readonly string[]): Promise<number> {
  const options = parseCompareOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const chosen = topics.map((topic) => topic.filter(({ name }) => options.only.test(name)));
  if (chosen.flat().length === 0) throw new Error('--only: must match the name of at least one pod');
  await access(BUILT_KUBELET);
  return inDirectoryOfItsOwn('na-compare-', async (directory, signal) => {
    const comparison = await runBoth(chosen, options.seconds, directory, signal);
    process.stdout.write(report(comparison, options.all));
    return comparison.differences.some(({ purpose }) => purpose === undefined) ? 1 : 0;
  });
}

async function runBoth(
  chosen: readonly (readonly Case[])[],
  seconds: number,
  directory: string,
  signal: AbortSignal,
): Promise<Comparison> {
  const runtime = await findOrBuildContainerd24(say);
  if ('reason' in runtime) throw new Error(runtime.reason);
  const upstream = await findUpstreamKubelet({ say });
  if ('reason' in upstream) throw new Error(upstream.reason);
  const programs = await findControlPlane({ say });
  if ('reason' in programs) throw new Error(programs.reason);
  const controlPlane = new ControlPlane({ binaries: programs.binaries, directory: join(directory, 'control-plane') });
  await controlPlane.start();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => controlPlane.stop());
  for (const [name, handler] of [
    ['compared', 'runc'],
    ['unknown-handler', 'no-such-handler'],
  ]) {
    await controlPlane.json('POST', '/apis/node.k8s.io/v1/runtimeclasses', { metadata: { name }, handler });
  }
  const hasCsi = csi.some((one) => chosen.flat().includes(one));
  if (hasCsi) await createCsiDrivers(controlPlane);
  const subnets = subnetsForPods();
  const start = async (name: string, program: string, subnet: string): Promise<Side> => {
    say(`starting ${name}`);
    const { binaries } = runtime;
    const place = join(directory, name);
    const side = await Side.start({ name, program, binaries, subnet, directory: place, controlPlane, hasCsi }, signal);
    // An error during the shutdown is only printed, because it must not hide the findings.
    stack.defer(() => side.stop(signal).catch((error: unknown) => say(`${name}: ${error}`)));
    return side;
  };
  const go = await start('go-side', upstream.binaries.kubelet, subnets[0]);
  const ours = await start('our-side', BUILT_KUBELET, subnets[1]);
  const sides = [go, ours] as const;
  const batches = inBatches(chosen, AT_ONCE);
  const found: (readonly [go: Found, ours: Found])[] = [];
  for (const [index, batch] of batches.entries()) {
    say(`starting ${batch.length} pods on each side`);
    await runBatch(batch, sides, seconds, signal);
    found.push([await go.find(), await ours.find()]);
    if (index < batches.length - 1) await Promise.all(sides.map((side) => side.clear(signal)));
  }
  const [ofGo, ofOurs] = [merged(found.map(([first]) => first)), merged(found.map(([, second]) => second))];
  const comparison = compare(chosen.flat(), ofGo, ofOurs);
  say('deleting the pods');
  return comparison;
}

/** Creates the pods of a batch, waits until they have started, and performs their changes halfway through the given time. */
async function runBatch(
  batch: readonly Case[],
  sides: readonly Side[],
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  const create = async (pods: readonly Case[]): Promise<void> => {
    for (const one of pods) for (const side of sides) await side.create(one);
    const count = async () => (await Promise.all(sides.map((side) => side.countStarted(pods)))).reduce((a, b) => a + b);
    await settled(count, pods.length * sides.length, SETTLING, signal);
  };
  await create(batch.filter(({ isLate = false }) => !isLate));
  await sleep(seconds * 500, signal);
  await create(batch.filter(({ isLate = false }) => isLate));
  for (const one of batch.filter(({ later }) => later !== undefined)) {
    for (const side of sides) {
      if (!one.neverStarts) await until(`${one.name} has started`, () => side.isStarted(one), signal);
      await side.change(one);
    }
  }
  await sleep(seconds * 500, signal);
}

runCommand(main, say);
