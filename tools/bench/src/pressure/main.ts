import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { ControlPlane, findControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { BUILT_KUBELET, inDirectoryOfItsOwn, runCommand, subnetsForPods } from '../command.ts';
import { type PressureOutcome, pressureFigures, pressureTable } from './figures.ts';
import { PRESSURE_KINDS } from './kinds.ts';
import { takePressureTurn } from './turn.ts';

const HELP = `Usage: npm run bench-pressure -- [options]
Memory and a disk run out, with this kubelet and with the Go kubelet of the release that it follows, in turn: how long it takes from the
crossing of the threshold to the first signal, who is told to end in which order, and who else suffers. Pods may have 1.4 GB together and a
disk of 900 MB in a file: the machine itself runs out of nothing. Needs root and loop devices.
  --only REGEXP   only the kinds whose names match
  --alone         this kubelet only
  --kubelet FILE  another build of this kubelet
  --json          print JSON, on the standard output
  --help
`;

/** What happens is told on the standard error stream: the standard output has the results only. */
function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', default: '' },
      kubelet: { type: 'string', default: BUILT_KUBELET },
      alone: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const kinds = PRESSURE_KINDS.filter(({ name }) => new RegExp(values.only).test(name));
  if (kinds.length === 0) throw new Error('--only: no kind has such a name');
  await access(values.kubelet);
  return inDirectoryOfItsOwn('na-press-', async (directory, signal) => {
    const runtime = await findOrBuildContainerd24(say);
    if ('reason' in runtime) throw new Error(runtime.reason);
    const upstream = values.alone ? undefined : await findUpstreamKubelet({ say });
    if (upstream !== undefined && 'reason' in upstream) throw new Error(upstream.reason);
    const programs = await findControlPlane({ say });
    if ('reason' in programs) throw new Error(programs.reason);
    const controlPlane = new ControlPlane({ binaries: programs.binaries, directory: join(directory, 'control-plane') });
    await controlPlane.start();
    try {
      const [goSubnet, subnet] = subnetsForPods();
      const turn = (
        nodeName: string,
        program: string,
        podSubnet: string,
      ): Promise<ReadonlyMap<string, PressureOutcome>> =>
        takePressureTurn(
          {
            ...{ controlPlane, binaries: runtime.binaries, program, nodeName, kinds, say },
            ...{ directory: join(directory, nodeName), subnet: podSubnet },
          },
          signal,
        );
      const go = upstream && (await turn('go', upstream.binaries.kubelet, goSubnet));
      const figures = pressureFigures(await turn('ours', values.kubelet, subnet), go);
      process.stdout.write(values.json ? `${JSON.stringify(figures, null, 2)}\n` : pressureTable(figures));
      return 0;
    } finally {
      await controlPlane.stop();
    }
  });
}

runCommand(main, say);
