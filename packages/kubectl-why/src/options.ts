import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface Options {
  /** Of `pod`; that of the context, or `default`, where absent. */
  readonly namespace: string | undefined;
  readonly context: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly output: 'text' | 'json';
  readonly watch: boolean;
  /** How often it is asked again. */
  readonly intervalMs: number;
  /** How long an answer may take. */
  readonly timeoutMs: number;
  /** What is explained: a pod, or a node. */
  readonly subject: { readonly pod: string } | { readonly node: string };
}

/** A command line that makes no sense; the message says which part of it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const HELP = `Says what a pod waits for, since when, what comes next, and what happened to it, as its node tells it.

Usage:
  kubectl why POD [-n NAMESPACE] [flags]
  kubectl why --node NODE [flags]

Flags:
  -n, --namespace NAME       the pod's namespace; that of the context by default
      --node NODE            which pods of a node wait, and for what
  -w, --watch                asks again and again, and shows what changed, until the pod is gone or you interrupt it
      --interval SECONDS     how often --watch asks; 2 by default
  -o, --output text|json     text by default
      --context NAME         of the kubeconfig; the current one by default
      --kubeconfig FILE      as kubectl finds it by default: KUBECONFIG, or ~/.kube/config
      --request-timeout SECONDS  how long an answer may take; 30 by default
  -h, --help
      --version

It needs the right to get pods, and nodes/proxy of the node. The node's kubelet has to be node-agent's.
`;

/** What asks for no cluster. */
export type Asked = { readonly show: 'help' | 'version' } | Options;

/** @throws UsageError naming what is wrong */
export function parseOptions(argv: readonly string[]): Asked {
  const { values, positionals } = parsed(argv);
  if (values.help) return { show: 'help' };
  if (values.version) return { show: 'version' };
  const output = values.output ?? 'text';
  if (output !== 'text' && output !== 'json')
    throw new UsageError(`--output: want text or json, got ${JSON.stringify(output)}`);
  return {
    namespace: values.namespace === undefined ? undefined : nameOf(values.namespace, '--namespace'),
    ...{ context: values.context, kubeconfig: values.kubeconfig },
    ...{ output, watch: values.watch ?? false },
    intervalMs: milliseconds('interval', values.interval, 2_000),
    timeoutMs: milliseconds('request-timeout', values['request-timeout'], 30_000),
    subject: subjectOf(values.node, positionals),
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        namespace: { type: 'string', short: 'n' },
        node: { type: 'string' },
        watch: { type: 'boolean', short: 'w' },
        interval: { type: 'string' },
        output: { type: 'string', short: 'o' },
        context: { type: 'string' },
        kubeconfig: { type: 'string' },
        'request-timeout': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function subjectOf(node: string | undefined, positionals: readonly string[]): Options['subject'] {
  const [first, second] = positionals;
  if (node !== undefined) {
    if (first !== undefined) throw new UsageError(`--node ${node} is for the node alone: leave out ${first}`);
    return { node: nameOf(node, '--node') };
  }
  if (first === undefined) throw new UsageError('name a pod, or a node with --node');
  if (second !== undefined) throw new UsageError(`one pod at a time: ${first}, or ${second}`);
  const slash = first.indexOf('/');
  const kind = slash < 0 ? 'pod' : first.slice(0, slash).toLowerCase();
  if (!['pod', 'pods', 'po'].includes(kind)) throw new UsageError(`pods are explained, not ${JSON.stringify(kind)}`);
  return { pod: nameOf(first.slice(slash + 1), 'the pod') };
}

/** A name as the API takes it: anything else would ask for another path. */
function nameOf(text: string, what: string): string {
  if (!/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(text))
    throw new UsageError(`${what}: ${JSON.stringify(text)} is no name`);
  return text;
}

function milliseconds(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const seconds = Number(/^(\d+(?:\.\d+)?)s?$/.exec(text)?.[1] ?? Number.NaN);
  if (!(seconds >= 0.1 && seconds <= 3_600)) {
    throw new UsageError(`--${flag}: want seconds from 0.1 to 3600, got ${JSON.stringify(text)}`);
  }
  return seconds * 1_000;
}
