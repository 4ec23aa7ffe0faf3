import { parseArgs } from 'node:util';

/** Container runtime that the node uses. */
type RuntimeChoice =
  /** `auto`: a private containerd if possible, else the fake runtime. */
  { readonly kind: 'auto' } | { readonly kind: 'fake' } | { readonly kind: 'given'; readonly endpoint: string };

/** Parsed command line of `npm start`. */
export interface Flags {
  readonly runtime: RuntimeChoice;
  /** Directory with the user's own manifests. */
  readonly manifests?: string;
  readonly runDir?: string;
  /** Whether the kubelet serves a page about the node. */
  readonly dashboard: boolean;
  readonly onceReady: boolean;
  readonly help: boolean;
}

/** Invalid command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const USAGE = `Usage: npm start -- [options]

Runs a node on this machine: a container runtime, the kubelet, and pods from manifests, with a live table of the pods
(on a pipe: a line for each change). Ctrl-C stops everything; a second Ctrl-C kills containers without waiting.

  --manifests DIR   run the pods of this directory; its files are only read. Default: sample pods are written
  --runtime RUNTIME unix:///path/of/socket: use that container runtime; only pods of this node are touched
                    fake: pods run in memory, without real containers
                    Default: as root a private containerd (missing packages are installed if apt-get is available),
                    else fake
  --run-dir DIR     directory of sockets, logs, manifests and data. Default as root: /var/lib/node-agent
  --no-dashboard    do not serve a page about the node on the loopback interface
  --cluster         run a whole cluster instead, with a control plane, services and DNS (--cluster --help)
  --once-ready      exit with code 0 as soon as every pod is running
  --help            print this help`;

/** Parses the command line. @throws UsageError describing what is wrong */
export function parseFlags(args: readonly string[]): Flags {
  const values = parse(args);
  return {
    runtime: runtimeChoice(values.runtime),
    ...(values.manifests !== undefined && { manifests: notEmpty('--manifests', values.manifests) }),
    ...(values['run-dir'] !== undefined && { runDir: notEmpty('--run-dir', values['run-dir']) }),
    dashboard: !values['no-dashboard'],
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
        'no-dashboard': { type: 'boolean', default: false },
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
