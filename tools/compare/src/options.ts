import { parseArgs } from 'node:util';

/** What is compared. */
export interface CompareOptions {
  /** Of the names of pods. */
  readonly only: RegExp;
  /** How long the pods have when they have begun, before they are looked at. */
  readonly seconds: number;
  /** Differences that are meant are told too. */
  readonly all: boolean;
  readonly help: boolean;
}

/** What `--help` prints. */
export const HELP: string = `Usage: npm run compare -- [options]
Runs the same pods with this kubelet and with the Go kubelet of the release that it follows, at once, each on a private
containerd, both in one private cluster, and tells where they differ: statuses, events, what the runtime was asked for, and
the node. Needs root. Exits with 1 where a difference is not known of.
  --only REGEXP   pods of these names
  --seconds N     how long they have when they have begun, before they are looked at (60)
  --all           tell differences that are meant too, and why
  --help
`;

/** Reads the command line. @throws Error naming the option that is wrong */
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
  // Past 123 s pods that wait for volumes are told of once more, by each kubelet in its own time.
  if (!Number.isInteger(seconds) || seconds < 5 || seconds > 75) {
    throw new Error(`--seconds: ${JSON.stringify(values.seconds)} is not a whole number from 5 to 75`);
  }
  let only: RegExp;
  try {
    only = new RegExp(values.only);
  } catch (cause) {
    throw new Error(`--only: ${JSON.stringify(values.only)} is not a regular expression`, { cause });
  }
  return { only, seconds, all: values.all, help: values.help };
}
