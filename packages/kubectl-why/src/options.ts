import { parseArgs } from 'node:util';

/** The parsed command line. */
export interface Options {
  /** The namespace of `pod`. Default: the context's, otherwise `default`. */
  readonly namespace: string | undefined;
  readonly context: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly output: 'text' | 'json';
  readonly watch: boolean;
  /** The interval of --watch, in milliseconds. */
  readonly intervalMs: number;
  /** The timeout of a request, in milliseconds. */
  readonly timeoutMs: number;
  /** What to explain: a pod, several pods, or a node. */
  readonly subject: { readonly pod: string } | { readonly pods: PodsSubject } | { readonly node: string };
}

/** A kind of object that owns pods. */
interface WorkloadKind {
  readonly singular: string;
  readonly plural: string;
  readonly group: 'apps' | 'batch';
}

/** Several pods: those of a workload, of a namespace, or of all namespaces. */
export interface PodsSubject {
  /** Kind of the workload; absent for all pods of a namespace or of all namespaces. */
  readonly kind?: WorkloadKind;
  readonly name?: string;
  readonly allNamespaces: boolean;
}

const WORKLOADS: readonly (WorkloadKind & { readonly short: string })[] = [
  { singular: 'deployment', plural: 'deployments', short: 'deploy', group: 'apps' },
  { singular: 'replicaset', plural: 'replicasets', short: 'rs', group: 'apps' },
  { singular: 'statefulset', plural: 'statefulsets', short: 'sts', group: 'apps' },
  { singular: 'daemonset', plural: 'daemonsets', short: 'ds', group: 'apps' },
  { singular: 'job', plural: 'jobs', short: 'job', group: 'batch' },
];

/** An invalid command line. The message names the invalid part. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const HELP = `Explains why a pod is not in the desired state, what it waits for, what comes next, and what happened before, from the pod's node.

Usage:
  kubectl why POD [-n NAMESPACE] [flags]
  kubectl why deploy/NAME [-n NAMESPACE]   one line per pod that is not in the desired state; also rs, sts, ds and job
  kubectl why --all [-n NAMESPACE]         the same for a namespace; also ns/NAME, or only -n NAMESPACE
  kubectl why --all-namespaces             the same for the cluster
  kubectl why --node NODE [flags]

Flags:
  -n, --namespace NAME       the pod's namespace; default: that of the context
      --all                  all pods of the namespace
  -A, --all-namespaces       all pods
      --node NODE            explain the pods of a node that are not in the desired state
  -w, --watch                repeat, and show changes until the pod is gone or you interrupt
      --interval SECONDS     the interval of --watch; default: 2
  -o, --output text|json     default: text
      --context NAME         the kubeconfig context; default: the current one
      --kubeconfig FILE      default as in kubectl: KUBECONFIG, or ~/.kube/config
      --request-timeout SECONDS  the timeout of a request; default: 30
  -h, --help
      --version

Requires permission to get nodes/proxy and to get pods (to list pods, if several are explained). The node's kubelet must be node-agent's.
`;

/** A parsed command line: a request for the help or the version, or the options of an explanation. */
export type Asked = { readonly show: 'help' | 'version' } | Options;

/** Parses the command line. @throws UsageError naming the invalid part */
export function parseOptions(argv: readonly string[]): Asked {
  const { values, positionals } = parsed(argv);
  if (values.help) return { show: 'help' };
  if (values.version) return { show: 'version' };
  const output = values.output ?? 'text';
  if (output !== 'text' && output !== 'json')
    throw new UsageError(`--output: must be text or json, got ${JSON.stringify(output)}`);
  const subject = subjectOf(values, positionals);
  const given =
    positionals[0] !== undefined && isNamespace(positionals[0]) ? afterSlash(positionals[0]) : values.namespace;
  return {
    namespace: given === undefined ? undefined : nameOf(given, '--namespace'),
    ...{ context: values.context, kubeconfig: values.kubeconfig },
    ...{ output, watch: values.watch ?? false },
    intervalMs: milliseconds('interval', values.interval, 2_000),
    timeoutMs: milliseconds('request-timeout', values['request-timeout'], 30_000),
    subject,
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
        all: { type: 'boolean' },
        'all-namespaces': { type: 'boolean', short: 'A' },
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

function subjectOf(
  values: Pick<ReturnType<typeof parsed>['values'], 'namespace' | 'node' | 'all' | 'all-namespaces'>,
  [first, second]: readonly string[],
): Options['subject'] {
  const { node, namespace } = values;
  const allNamespaces = values['all-namespaces'] ?? false;
  const all = values.all === true || allNamespaces;
  if (node !== undefined) {
    if (first !== undefined) throw new UsageError(`--node ${node} explains only the node: leave out ${first}`);
    if (all) throw new UsageError(`--node ${node} explains only the node: leave out --all`);
    return { node: nameOf(node, '--node') };
  }
  if (second !== undefined) throw new UsageError(`only one name is allowed: ${first}, or ${second}`);
  if (first === undefined) {
    if (all || namespace !== undefined) return { pods: { allNamespaces } };
    throw new UsageError('name a pod, a workload (deploy/NAME), --all pods of a namespace, or a node with --node');
  }
  if (all) throw new UsageError(`--all explains all pods: leave out ${first}`);
  if (isNamespace(first)) {
    if (namespace !== undefined && namespace !== afterSlash(first))
      throw new UsageError(`only one namespace is allowed: ${first}, or ${namespace}`);
    return { pods: { allNamespaces: false } };
  }
  const kind = first.includes('/') ? first.slice(0, first.indexOf('/')).toLowerCase() : 'pod';
  const workload = WORKLOADS.find(({ singular, plural, short }) => [singular, plural, short].includes(kind));
  if (workload !== undefined) {
    const { short: _, ...found } = workload;
    return { pods: { kind: found, name: nameOf(afterSlash(first), `the ${workload.singular}`), allNamespaces: false } };
  }
  if (!['pod', 'pods', 'po'].includes(kind))
    throw new UsageError(`only pods and workloads can be explained, not ${JSON.stringify(kind)}`);
  return { pod: nameOf(first.includes('/') ? afterSlash(first) : first, 'the pod') };
}

function isNamespace(text: string): boolean {
  return /^(ns|namespaces?)\//i.test(text);
}

function afterSlash(text: string): string {
  return text.slice(text.indexOf('/') + 1);
}

/** Checks a name. Any other text would select another API path. */
function nameOf(text: string, what: string): string {
  if (!/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(text))
    throw new UsageError(`${what}: ${JSON.stringify(text)} must be a valid name`);
  return text;
}

function milliseconds(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const seconds = Number(/^(\d+(?:\.\d+)?)s?$/.exec(text)?.[1] ?? Number.NaN);
  if (!(seconds >= 0.1 && seconds <= 3_600)) {
    throw new UsageError(`--${flag}: must be seconds from 0.1 to 3600, got ${JSON.stringify(text)}`);
  }
  return seconds * 1_000;
}
