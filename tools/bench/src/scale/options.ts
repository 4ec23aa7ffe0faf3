import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';

/** Options of a run. */
export interface ScaleOptions {
  /** Numbers of pods on the node, ascending. */
  readonly sizes: readonly number[];
  readonly restSeconds: number;
  /** Number of finished pods that a kubelet finds when it starts; 0 skips this part. */
  readonly finished: number;
  readonly rounds: number;
  /** Path of another kubelet that is measured, too: a Go kubelet, or another build of this one. */
  readonly kubelet: string | undefined;
  /** Whether only the other kubelet is measured. */
  readonly onlyOther: boolean;
  /** Whether the API server is in memory, which needs no control plane. */
  readonly memoryApi: boolean;
  /** Whether pods run without cgroups of their own. */
  readonly withoutCgroups: boolean;
  /** Directory for CPU profiles of the kubelets that run with Node. If `undefined`, no profiles are written. */
  readonly profiles: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run bench-scale -- [options]
Measures how the cost of a kubelet grows with the number of pods on the node, over a runtime in memory. Needs root.
  --pods N,N,...       numbers of pods, ascending (10,100,250,500,1000)
  --rest-seconds N     seconds for measuring the CPU time at rest (20)
  --finished N         finished pods in the API when the kubelet starts; 0 skips this part (10000)
  --rounds N           turns of each kubelet; the values are their medians (1)
  --kubelet FILE       measure another kubelet, too: a Go kubelet, or another build of this one
  --only-other         measure only the kubelet of --kubelet
  --memory-api         use an API server in memory instead of a control plane
  --without-cgroups    set cgroupsPerQOS to false
  --profiles DIR       directory for CPU profiles of kubelets that run with Node
  --json               print JSON instead of tables
  --help
`;

/** Maximum number of pods: the subnet of the runtime in memory has 65,536 addresses. */
const MAX_PODS = 5_000;

/** Parses the command line. @throws Error that names the invalid option */
export function parseScaleOptions(argv: readonly string[]): ScaleOptions {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ pods: text('10,100,250,500,1000'), 'rest-seconds': text('20'), finished: text('10000'), rounds: text('1') },
      ...{ kubelet: { type: 'string' }, profiles: { type: 'string' } },
      ...{ 'only-other': flag, 'memory-api': flag, 'without-cgroups': flag, json: flag, help: flag },
    },
  });
  const sizes = values.pods.split(',').map((part) => numberOption('--pods', part, 1, MAX_PODS));
  if (sizes.some((size, index) => size <= (sizes[index - 1] ?? 0))) throw new Error('--pods: must be ascending');
  if (values['only-other'] && values.kubelet === undefined) throw new Error('--only-other: requires --kubelet');
  return {
    sizes,
    restSeconds: numberOption('--rest-seconds', values['rest-seconds'], 1, 600),
    finished: numberOption('--finished', values.finished, 0, 100_000),
    rounds: numberOption('--rounds', values.rounds, 1, 20),
    kubelet: values.kubelet,
    onlyOther: values['only-other'],
    memoryApi: values['memory-api'],
    withoutCgroups: values['without-cgroups'],
    profiles: values.profiles,
    json: values.json,
    help: values.help,
  };
}
