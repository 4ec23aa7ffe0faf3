import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';
import type { SideBySideOptions } from '../side-by-side.ts';

/** How many pods are probed, and how long. */
export interface ProbesBenchOptions extends SideBySideOptions {
  /** Each has two probes a second. */
  readonly pods: number;
  readonly seconds: number;
  readonly json: boolean;
  readonly help: boolean;
}

/** What `--help` prints. */
export const HELP: string = `Usage: npm run bench-probes -- [options]
Has this kubelet and the Go kubelet of the release that it follows probe pods, in turn, each with a private containerd, both in one private
cluster: two HTTP probes of each pod a second against one server that notes when they come, then pods that are Ready once they serve. Needs root.
  --pods N       pods on the node (100)
  --seconds N    how long they are probed, and are not (60)
  --rounds N     turns of each kubelet; figures are the medians of them (1)
  --alone        this kubelet only
  --profiles DIR keep CPU profiles of this kubelet there
  --json         print JSON, on the standard output
  --help
`;

/** Reads the command line. @throws Error naming the option that is wrong */
export function parseProbesOptions(argv: readonly string[]): ProbesBenchOptions {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ pods: text('100'), seconds: text('60'), rounds: text('1'), profiles: { type: 'string' } },
      ...{ alone: flag, json: flag, help: flag },
    },
  });
  const { alone, json, help, profiles } = values;
  return {
    pods: numberOption('--pods', values.pods, 1, 240),
    seconds: numberOption('--seconds', values.seconds, 5, 3_600),
    rounds: numberOption('--rounds', values.rounds, 1, 20),
    ...{ alone, json, help, profiles },
  };
}
