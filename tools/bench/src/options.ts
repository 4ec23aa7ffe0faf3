import { parseArgs } from 'node:util';

/** Options of a run. */
export interface BenchOptions {
  /** Number of pods in a batch. */
  readonly pods: number;
  /** Number of batches on each side; the results are their medians. */
  readonly repetitions: number;
  /** Number of pods while the kubelet is at rest. */
  readonly idlePods: number;
  readonly idleSeconds: number;
  /** Number of containers that are killed on each side. */
  readonly restarts: number;
  /** Number of single pods that are started on each side. */
  readonly singles: number;
  /** Concurrencies of the loop over the bare runtime; the fastest one is used. */
  readonly concurrency: readonly number[];
  /**
   * containerd to measure with: `system` is the machine's, `2.4` is built from source, `auto` is 2.4 if it can be
   * built, otherwise the machine's.
   */
  readonly runtime: 'auto' | 'system' | '2.4';
  /** Path of the kubelet. Default: the one that this repository built. */
  readonly kubelet: string | undefined;
  /** Node flags of the kubelet. Default: the flags in the program's first line. */
  readonly nodeFlags: readonly string[] | undefined;
  readonly parts: readonly Part[];
  /** Log verbosity of the kubelet (`-v`). */
  readonly verbosity: number;
  /** Whether the results are printed as JSON instead of a table. */
  readonly json: boolean;
  /** File to which the kubelet's log is copied. */
  readonly keepLog: string | undefined;
  readonly help: boolean;
}

/** Parts that can be measured separately. */
type Part = 'single' | 'batch' | 'restart' | 'idle';
const PARTS: readonly Part[] = ['single', 'batch', 'restart', 'idle'];

/** Text of `--help`. */
export const HELP: string = `Usage: npm run bench -- [options]
Compares this kubelet with the bare container runtime. Both sides have a private containerd and are measured in turn. Needs root.
  --pods N             pods in a batch (50)
  --repetitions N      batches on each side (3)
  --idle-pods N        pods while the kubelet is at rest (100)
  --idle-seconds N     seconds for measuring the CPU time at rest (30)
  --restarts N         containers killed on each side (10)
  --singles N          single pods started on each side (5)
  --concurrency A,B,.. concurrencies of the bare loop, of which the fastest is used (2,3,4,6,8)
  --runtime WHICH      auto, system (the machine's) or 2.4 (built once; auto tries it first)
  --only A,B,..        parts: ${PARTS.join(', ')}
  --kubelet FILE       another kubelet's main.js
  --node-flags "..."   flags of node (Node.js) for the kubelet, instead of those in the first line of its main.js
  --verbosity N        -v of the kubelet (0)
  --keep-log FILE      copy the kubelet's log to this file
  --json               print JSON on the standard output
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
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

/** Maximum number of pods. The number is limited by the /24 subnet of the pods' addresses. */
const MAX_PODS = 250;

function count(option: string, text: string, least = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= MAX_PODS && text.trim() !== '') return value;
  throw new Error(`${option}: must be a number from ${least} to ${MAX_PODS}, is ${JSON.stringify(text)}`);
}

function oneOf<T extends string>(option: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === text);
  if (found !== undefined) return found;
  throw new Error(`${option}: must be one of ${allowed.join(', ')}, is ${JSON.stringify(text)}`);
}
