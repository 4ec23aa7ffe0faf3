import { parseArgs } from 'node:util';
import { numberOption } from '../number-option.ts';

/** What a run measures, and how long. */
export interface ClusterBenchOptions {
  /** Pods in the batch, and while the kubelet is at rest. */
  readonly pods: number;
  /** Single pods that are started, deleted and crashed, each. */
  readonly singles: number;
  readonly idleSeconds: number;
  /** How long one pod's annotations are changed as fast as the control plane takes it, by one writer and by many; 0: not at all. */
  readonly changeSeconds: number;
  /** How long they are changed 1,000 times a second, by an API server in memory; 0: not at all. */
  readonly stormSeconds: number;
  /** That alone: no control plane is needed then. */
  readonly onlyStorm: boolean;
  /** How often each kubelet has its turn. */
  readonly rounds: number;
  /** A runtime in memory, which costs next to nothing: no process of a container can be killed then, nor a runtime measured by itself. */
  readonly fakeRuntime: boolean;
  /** Pods have no groups of their own, with either kubelet. */
  readonly withoutCgroups: boolean;
  /** This repository's kubelet alone. */
  readonly alone: boolean;
  /** Where the CPU profiles of this repository's kubelet are kept; none are taken where absent. */
  readonly profiles: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

/** What `--help` prints. */
export const HELP: string = `Usage: npm run bench-cluster -- [options]
Measures this kubelet against the Go kubelet of the release that it follows, in turn, each on a private containerd, both in
one private cluster. Needs root.
  --pods N             pods in the batch, and at rest (100)
  --singles N          pods started, deleted and crashed one by one (5)
  --idle-seconds N     how long its CPU time is measured at rest (30)
  --change-seconds N   how long the annotations of one pod are changed as fast as the control plane takes it (10)
  --storm-seconds N    how long they are changed 1,000 times a second, by an API server in memory (30)
  --only-storm         measure nothing else
  --rounds N           turns of each kubelet (1)
  --fake-runtime       with a runtime in memory: what the kubelets themselves cost
  --without-cgroups    cgroupsPerQOS is false for both kubelets: what groups of pods cost
  --alone              this kubelet only
  --profiles DIR       keep CPU profiles of this kubelet there
  --json               print JSON, on the standard output
  --help
`;

/** Reads the command line. @throws Error naming the option that is wrong */
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
      alone: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values['fake-runtime'] && values['only-storm']) throw new Error('--only-storm needs a real runtime');
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
    alone: values.alone,
    profiles: values.profiles,
    json: values.json,
    help: values.help,
  };
}
