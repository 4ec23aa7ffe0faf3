import { parseArgs } from 'node:util';

/** Options of a comparison. */
export interface CompareOptions {
  /** Matches the names of the pods to run. */
  readonly only: RegExp;
  /** Time in seconds between the start of the pods and their comparison. */
  readonly seconds: number;
  /** Whether intended differences are shown, too. */
  readonly all: boolean;
  readonly help: boolean;
}

/** Text of `--help`. */
export const HELP: string = `Usage: npm run compare -- [options]
Runs the same pods with this kubelet and with the Go kubelet of the release that it follows, in parallel, each on a private
containerd, both in one private cluster, and reports the differences: statuses, events, runtime requests, the files, mounts and
driver calls of CSI volumes, and the node. Needs root. Exits with 1 if there is an unexpected difference.
  --only REGEXP   run only the pods with these names
  --seconds N     seconds between the start of the pods and the comparison (60)
  --all           also show intended differences and their reasons
  --help
`;

/** Parses the command line. @throws Error that names the invalid option */
export function parseCompareOptions(argv: readonly string[]): CompareOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', default: '' },
      seconds: { type: 'string', default: '60' },
      all: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const seconds = Number(values.seconds);
  // The maximum keeps the comparison below 123 s: after that, each kubelet reports a failed wait for volumes again, at
  // different times.
  if (!Number.isInteger(seconds) || seconds < 5 || seconds > 75) {
    throw new Error(`--seconds: must be an integer from 5 to 75, is ${JSON.stringify(values.seconds)}`);
  }
  let only: RegExp;
  try {
    only = new RegExp(values.only);
  } catch (cause) {
    throw new Error(`--only: must be a regular expression, is ${JSON.stringify(values.only)}`, { cause });
  }
  return { only, seconds, all: values.all, help: values.help };
}
