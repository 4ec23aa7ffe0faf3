import { parseArgs } from 'node:util';

/** Which container runtime the node is to run over. */
type RuntimeChoice =
  /** One of its own where that is possible, else the fake one. */
  { readonly kind: 'auto' } | { readonly kind: 'fake' } | { readonly kind: 'given'; readonly endpoint: string };

/** What the command line of `npm start` says. */
export interface Flags {
  readonly runtime: RuntimeChoice;
  /** A directory of the user's own manifests. */
  readonly manifests?: string;
  readonly runDir?: string;
  readonly onceReady: boolean;
  readonly help: boolean;
}

/** The command line is not understood. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const USAGE = `Usage: npm start -- [options]

Runs a node on this machine: a container runtime, the kubelet, and pods from manifests, with a live table of them
(on a pipe: a line for each change). Ctrl-C ends all of it; a second Ctrl-C does not wait for containers to end.

  --manifests DIR   run the pods of this directory; its files are only read. Without it, sample pods are written
  --runtime RUNTIME unix:///path/of/socket: use that container runtime, and touch no pods but those of this node
                    fake: pods run in memory, and no container really does
                    Without it: a private containerd where this is root (missing packages are installed where apt-get
                    is), else fake
  --run-dir DIR     where sockets, logs, manifests and data are; /var/lib/node-agent as root
  --once-ready      end as soon as every pod runs, with exit code 0
  --help            print this
`;

/** Reads the command line. @throws UsageError that says what is wrong with it */
export function parseFlags(args: readonly string[]): Flags {
  const values = parse(args);
  return {
    runtime: runtimeChoice(values.runtime),
    ...(values.manifests !== undefined && { manifests: notEmpty('--manifests', values.manifests) }),
    ...(values['run-dir'] !== undefined && { runDir: notEmpty('--run-dir', values['run-dir']) }),
    onceReady: values['once-ready'],
    help: values.help,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        runtime: { type: 'string' },
        manifests: { type: 'string' },
        'run-dir': { type: 'string' },
        'once-ready': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function runtimeChoice(text: string | undefined): RuntimeChoice {
  if (text === undefined) return { kind: 'auto' };
  if (text === 'fake') return { kind: 'fake' };
  if (/^unix:\/\/\/./.test(text)) return { kind: 'given', endpoint: text };
  if (text.startsWith('/')) throw new UsageError(`--runtime ${text}: expected unix://${text}`);
  throw new UsageError(`--runtime ${text}: expected unix:///path/of/socket or fake`);
}

function notEmpty(flag: string, text: string): string {
  if (text === '') throw new UsageError(`${flag}: expected a directory`);
  return text;
}
