import { parseArgs } from 'node:util';

/** What a run measures, and how long. */
export interface BenchOptions {
  /** Pods in a batch. */
  readonly pods: number;
  /** Batches of each kind; the median of them counts. */
  readonly repetitions: number;
  /** Pods while the kubelet is at rest. */
  readonly idlePods: number;
  readonly idleSeconds: number;
  /** Containers that are killed, on each side. */
  readonly restarts: number;
  /** Starts of a single pod, on each side. */
  readonly singles: number;
  /** How many pods the loop over the bare runtime starts at once; the best one of these. */
  readonly concurrency: readonly number[];
  /** `system`: the one of the machine; `2.4`: built from its sources; `auto`: 2.4, or else the machine's. */
  readonly runtime: 'auto' | 'system' | '2.4';
  /** The kubelet's program; what this repository built where absent. */
  readonly kubelet: string | undefined;
  /** Flags for its Node instead of those of its first line. */
  readonly nodeFlags: readonly string[] | undefined;
  readonly parts: readonly Part[];
  /** How much the kubelet logs, as its `-v`. */
  readonly verbosity: number;
  /** The results as JSON instead of a table. */
  readonly json: boolean;
  /** Where the kubelet's log is copied. */
  readonly keepLog: string | undefined;
  readonly help: boolean;
}

/** What can be measured by itself. */
type Part = 'single' | 'batch' | 'restart' | 'idle';
const PARTS: readonly Part[] = ['single', 'batch', 'restart', 'idle'];

/** What `--help` prints. */
export const HELP: string = `Usage: npm run bench -- [options]
Measures this kubelet against the bare container runtime, on a private containerd of each, in turn. Needs root.
  --pods N             pods in a batch (50)
  --repetitions N      batches of each kind (3)
  --idle-pods N        pods while the kubelet is at rest (100)
  --idle-seconds N     how long its CPU time is measured then (30)
  --restarts N         containers killed on each side (10)
  --singles N          single pods started on each side (5)
  --concurrency A,B,.. pods that the bare loop starts at once: the best of these is taken (2,3,4,6,8)
  --runtime WHICH      auto, system (of the machine) or 2.4 (built once; what auto tries first)
  --only A,B,..        of ${PARTS.join(', ')}
  --kubelet FILE       another kubelet's main.js
  --node-flags "..."   flags for the kubelet's Node, instead of those of its first line
  --verbosity N        the kubelet's -v (0)
  --keep-log FILE      copy the kubelet's log there
  --json               print JSON, on the standard output
  --help
`;

/** Reads the command line. @throws Error naming the option that is wrong */
export function parseOptions(argv: readonly string[]): BenchOptions {
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      pods: string('50'),
      repetitions: string('3'),
      'idle-pods': string('100'),
      'idle-seconds': string('30'),
      restarts: string('10'),
      singles: string('5'),
      concurrency: string('2,3,4,6,8'),
      runtime: string('auto'),
      only: string(PARTS.join(',')),
      kubelet: { type: 'string' },
      'node-flags': { type: 'string' },
      'keep-log': { type: 'string' },
      verbosity: string('0'),
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    pods: count('--pods', values.pods),
    repetitions: count('--repetitions', values.repetitions),
    idlePods: count('--idle-pods', values['idle-pods']),
    idleSeconds: count('--idle-seconds', values['idle-seconds']),
    restarts: count('--restarts', values.restarts),
    singles: count('--singles', values.singles),
    concurrency: values.concurrency.split(',').map((text) => count('--concurrency', text)),
    runtime: oneOf('--runtime', values.runtime, ['auto', 'system', '2.4']),
    parts: values.only.split(',').map((text) => oneOf('--only', text, PARTS)),
    kubelet: values.kubelet,
    nodeFlags: values['node-flags']?.split(/\s+/).filter((flag) => flag !== ''),
    keepLog: values['keep-log'],
    verbosity: count('--verbosity', values.verbosity, 0),
    json: values.json,
    help: values.help,
  };
}

/** Pods of a run have addresses of a /24 network. */
const MAX_PODS = 250;

function count(option: string, text: string, least = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= MAX_PODS && text.trim() !== '') return value;
  throw new Error(`${option}: ${JSON.stringify(text)} is not a number from ${least} to ${MAX_PODS}`);
}

function oneOf<T extends string>(option: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === text);
  if (found !== undefined) return found;
  throw new Error(`${option}: ${JSON.stringify(text)} is none of ${allowed.join(', ')}`);
}
