import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';

/** Options of a run. */
export interface ClusterBenchOptions {
  /** Number of pods in the batch and at rest. */
  readonly pods: number;
  /** Number of single pods that are started, deleted and crashed. */
  readonly singles: number;
  readonly idleSeconds: number;
  /** Seconds for changing one pod's annotations as fast as possible, by one writer and by many; 0 skips this part. */
  readonly changeSeconds: number;
  /** Seconds for changing annotations 1,000 times a second with an API server in memory; 0 skips this part. */
  readonly stormSeconds: number;
  /** Whether only the changes with the API server in memory are measured, which needs no control plane. */
  readonly onlyStorm: boolean;
  /** Number of turns per kubelet. */
  readonly rounds: number;
  /**
   * Whether the runtime is in memory and costs almost nothing. With the runtime in memory, containers cannot be killed,
   * and the runtime is not measured separately.
   */
  readonly fakeRuntime: boolean;
  /** Whether pods run without cgroups of their own with both kubelets. */
  readonly withoutCgroups: boolean;
  /** Other kubelets that are measured in each round, after this repository's. */
  readonly others: readonly OtherKubelet[];
  /** Whether the Go kubelet is left out. */
  readonly alone: boolean;
  /** Directory for CPU profiles of this repository's kubelet. If `undefined`, no profiles are written. */
  readonly profiles: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

/** A kubelet that is compared besides the Go kubelet: another build, or a script that starts one with other settings. */
interface OtherKubelet {
  /** Heading of its column. */
  readonly name: string;
  /** Absolute path of the program. A file that ends in `.js` is run with Node. */
  readonly program: string;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run bench-cluster -- [options]
Compares this kubelet with the Go kubelet of the release that it follows. The kubelets run in turn, each on a private containerd,
both in one private cluster. Needs root.
  --pods N             pods in the batch, and at rest (100)
  --singles N          pods started, deleted and crashed one by one (5)
  --idle-seconds N     seconds for measuring the CPU time at rest (30)
  --change-seconds N   seconds for changing the annotations of one pod as fast as possible (10)
  --storm-seconds N    seconds for changing them 1,000 times a second with an API server in memory (30)
  --only-storm         measure only the storm (--storm-seconds)
  --rounds N           turns of each kubelet (1)
  --fake-runtime       use a runtime in memory, to measure the kubelets alone
  --without-cgroups    set cgroupsPerQOS to false for both kubelets, to measure the cost of pod cgroups
  --kubelet NAME=FILE  also measure the kubelet in FILE in each round; may be repeated. FILE may be a script that starts a
                       kubelet with other settings
  --alone              without the Go kubelet
  --profiles DIR       directory for CPU profiles of this kubelet
  --json               print JSON on the standard output
  --help
`;

/** Headings of the other columns. */
const FIXED_NAMES = ['figure', 'bare', 'Go', 'this', 'ratio', 'target'];

function otherKubelet(text: string): OtherKubelet {
  const at = text.indexOf('=');
  const [name, file] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || file === '') throw new Error(`--kubelet: must be NAME=FILE, not ${JSON.stringify(text)}`);
  return { name, program: resolve(file) };
}

/** Parses the command line. @throws Error that names the invalid option */
export function parseClusterOptions(argv: readonly string[]): ClusterBenchOptions {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      pods: text('100'),
      singles: text('5'),
      'idle-seconds': text('30'),
      'change-seconds': text('10'),
      'storm-seconds': text('30'),
      'only-storm': { type: 'boolean', default: false },
      rounds: text('1'),
      profiles: { type: 'string' },
      'fake-runtime': { type: 'boolean', default: false },
      'without-cgroups': { type: 'boolean', default: false },
      kubelet: { type: 'string', multiple: true, default: [] },
      alone: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values['fake-runtime'] && values['only-storm'])
    throw new Error('--only-storm: cannot be combined with --fake-runtime');
  const others = values.kubelet.map(otherKubelet);
  if (values['only-storm'] && others.length > 0) throw new Error('--only-storm: cannot be combined with --kubelet');
  const names = [...FIXED_NAMES, ...others.map(({ name }) => name)];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`--kubelet: two columns would be called ${twice}`);
  return {
    pods: numberOption('--pods', values.pods, 1, 240),
    singles: numberOption('--singles', values.singles, 1, 100),
    idleSeconds: numberOption('--idle-seconds', values['idle-seconds'], 1, 600),
    changeSeconds: numberOption('--change-seconds', values['change-seconds'], 0, 600),
    stormSeconds: numberOption('--storm-seconds', values['storm-seconds'], 0, 3600),
    onlyStorm: values['only-storm'],
    rounds: numberOption('--rounds', values.rounds, 1, 20),
    fakeRuntime: values['fake-runtime'],
    withoutCgroups: values['without-cgroups'],
    others,
    alone: values.alone,
    profiles: values.profiles,
    json: values.json,
    help: values.help,
  };
}
