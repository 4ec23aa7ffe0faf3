import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { ControlPlane, findControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { BUILT_KUBELET, inDirectoryOfItsOwn, runCommand, say, subnetsForPods } from '../command.ts';
import { hostileFigures, hostileTable } from './figures.ts';
import { HOSTILE_KINDS } from './kinds.ts';
import { type Harm, takeHostileTurn } from './turn.ts';

const HELP = `Usage: npm run bench-hostile -- [options]
Runs pods that fill their files with hostile content, with this kubelet and with the Go kubelet of the release that it follows,
in turn. Measures their cost in memory and CPU, the start time of another pod, and the time until they are gone. Needs root.
  --only REGEXP   only the kinds whose names match
  --alone         only this kubelet
  --json          print JSON on the standard output
  --help
`;

async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', default: '' },
      alone: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const kinds = HOSTILE_KINDS.filter(({ name }) => new RegExp(values.only).test(name));
  if (kinds.length === 0) throw new Error('--only: must match the name of at least one kind');
  await access(BUILT_KUBELET);
  return inDirectoryOfItsOwn('na-hostile-', async (directory, signal) => {
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
      const turn = (nodeName: string, program: string, podSubnet: string): Promise<ReadonlyMap<string, Harm>> =>
        takeHostileTurn(
          {
            ...{ controlPlane, binaries: runtime.binaries, program, nodeName, kinds, say },
            ...{ directory: join(directory, nodeName), subnet: podSubnet },
          },
          signal,
        );
      const go = upstream && (await turn('go', upstream.binaries.kubelet, goSubnet));
      const figures = hostileFigures(await turn('ours', BUILT_KUBELET, subnet), go);
      process.stdout.write(values.json ? `${JSON.stringify(figures, null, 2)}\n` : hostileTable(figures));
      return 0;
    } finally {
      await controlPlane.stop();
    }
  });
}

runCommand(main, say);
