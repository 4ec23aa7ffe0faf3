import { parseArgs } from 'node:util';

/** Options of a comparison of the resource managers. */
export interface ResourceOptions {
  /** Number of sequences. */
  readonly sequences: number;
  /** Seed of the first sequence. Each further sequence has the next seed. */
  readonly seed: number;
  /** Whether the duration of admissions is measured instead of comparing sequences. */
  readonly time: boolean;
  /** File to which the digests of upstream's answers are written; `undefined` if they are not written. */
  readonly record: string | undefined;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run compare-resources -- [options]
Runs random sequences of pods on six machines through package cm-resources and through the CPU, memory and topology
managers of the Go kubelet, and compares the CPUs and memory that they choose, the errors, the podresources API and the
state files byte for byte. At each restart, each side reads the state files of the other one. Needs root and, the first
time, Go. Exits with 1 if there is an unexpected difference.
  --sequences N   number of sequences (200)
  --seed S        seed of the first sequence (1)
  --time          measure the admission of 100 pods with exclusive CPUs on a machine with 128 CPUs instead
  --record FILE   write digests of upstream's answers, which a test replays without Go
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
export function parseResourceOptions(argv: readonly string[]): ResourceOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      sequences: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      time: { type: 'boolean', default: false },
      record: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    sequences: natural('sequences', values.sequences, 1, 1_000_000),
    seed: natural('seed', values.seed, 0, 4_000_000_000),
    time: values.time,
    record: values.record,
    help: values.help,
  };
}

function natural(name: string, text: string, least: number, most: number): number {
  if (/^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw new Error(`--${name}: must be an integer from ${least} to ${most}, is ${JSON.stringify(text)}`);
}
