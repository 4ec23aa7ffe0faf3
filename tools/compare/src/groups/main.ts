// `npm run compare-groups`: compares the cgroups of ten pods of all QoS classes with those of the Go kubelet, file by
// file.
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BUILT_KUBELET, inDirectoryOfItsOwn, runCommand, sleep, subnetsForPods } from '@node-agent/tools-bench';
import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { compareGroups, groupReport } from './compare-groups.ts';
import { GroupSide } from './group-side.ts';
import { groupPurposes } from './on-purpose.ts';
import { mixedPods } from './pods.ts';

const HELP = `Usage: npm run compare-groups -- [options]
Runs ten pods of all QoS classes with this kubelet and with the Go kubelet of the release that it follows, in parallel and
without a cluster, and compares their cgroups file by file. Needs root. Exits with 1 if there is an unexpected difference.
  --kubelet FILE  another build of this kubelet
  --all           also show intended differences and their reasons
  --help
`;
/** Time in ms to wait for the QoS cgroups, which the kubelets update periodically. */
const SETTLE_MS = 5000;

function say(text: string): void {
  process.stderr.write(`compare: ${text}\n`);
}

async function main(argv: readonly string[]): Promise<number> {
  const options = {
    kubelet: { type: 'string', default: BUILT_KUBELET },
    all: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...argv], options });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await access(values.kubelet);
  const runtime = await findOrBuildContainerd24(say);
  if ('reason' in runtime) throw new Error(runtime.reason);
  const upstream = await findUpstreamKubelet({ say });
  if ('reason' in upstream) throw new Error(upstream.reason);
  const programs = [
    ['go', upstream.binaries.kubelet],
    ['here', values.kubelet],
  ] as const;
  return inDirectoryOfItsOwn('na-groups-', async (directory, signal) => {
    await using stack = new AsyncDisposableStack();
    const subnets = subnetsForPods();
    const sides: GroupSide[] = [];
    for (const [index, [name, program]] of programs.entries()) {
      say(`starting ${name}`);
      const side = await GroupSide.start({
        ...{ name: `na-${name}-${process.pid}`, program, binaries: runtime.binaries, driver: 'cgroupfs' },
        ...{ subnet: subnets[index] ?? subnets[0], directory: join(directory, name) },
        configuration: { featureGates: { QOSReserved: true }, qosReserved: { memory: '50%' } },
      });
      stack.defer(() => side.stop().catch((error: unknown) => say(`${name}: ${error}`)));
      sides.push(side);
    }
    say(`starting ${mixedPods.length} pods on each side`);
    for (const pod of mixedPods) for (const side of sides) await side.write(pod);
    for (const side of sides)
      await side.running(
        mixedPods.map(({ name }) => name),
        signal,
      );
    await sleep(SETTLE_MS, signal);
    const [go, ours] = await Promise.all(sides.map((side) => side.groups()));
    const comparison = compareGroups(go ?? new Map(), ours ?? new Map(), groupPurposes);
    process.stdout.write(groupReport(comparison, values.all));
    return comparison.unexpected.length > 0 ? 1 : 0;
  });
}

runCommand(main, say);
