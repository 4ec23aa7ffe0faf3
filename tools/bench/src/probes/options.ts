import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';
import type { SideBySideOptions } from '../side-by-side.ts';

/** Options of a run. */
export interface ProbesBenchOptions extends SideBySideOptions {
  /** Number of pods. Each pod has two probes per second. */
  readonly pods: number;
  readonly seconds: number;
  readonly json: boolean;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run bench-probes -- [options]
Lets this kubelet and the Go kubelet of the release that it follows probe pods. The kubelets run in turn, each on a private containerd, both
in one private cluster. Part 1: two HTTP probes per pod and second against one server that records their arrival. Part 2: pods that become
Ready when they serve. Needs root.
  --pods N       pods on the node (100)
  --seconds N    seconds with probes, and seconds without (60)
  --rounds N     turns of each kubelet; the values are their medians (1)
  --alone        only this kubelet
  --profiles DIR directory for CPU profiles of this kubelet
  --json         print JSON on the standard output
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
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
