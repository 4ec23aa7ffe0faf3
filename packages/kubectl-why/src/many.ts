import { printable } from '@node-agent/telemetry';
import type { Answer, ApiServer } from './api-server.ts';
import type { WhyError } from './errors.ts';
import type { PodsSubject } from './options.ts';
import { parsed } from './parsed.ts';
import { listRefusal, nodeRefusal } from './refusal.ts';
import { type ApiPod, explainUnscheduled } from './unscheduled.ts';

/** A pod that is not in the desired state, and why. */
interface PodLine {
  readonly namespace: string;
  readonly name: string;
  /** null for an unscheduled pod. */
  readonly node: string | null;
  readonly phase: string;
  readonly causes: readonly string[];
}

/** The explanation of several pods. */
export interface ManyExplanation {
  /** Description of the pods for the user, such as `deployment/web in the namespace shop`. */
  readonly subject: string;
  readonly pods: number;
  /** Reasons from the workload's conditions why it lacks pods; absent if there are none. */
  readonly workload?: readonly string[];
  readonly notAsWanted: readonly PodLine[];
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The used fields of a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job. */
export interface Workload {
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: {
      readonly matchLabels?: Readonly<Record<string, string>>;
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[];
      }[];
    };
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The used fields of a node's explanation (`NodeExplanation` of `@node-agent/kubelet-core`). */
interface NodeAnswer {
  readonly waiting?: readonly {
    readonly pod: { readonly namespace: string; readonly name: string };
    readonly causes?: readonly string[];
    readonly waitingFor?: readonly { readonly what: string }[];
  }[];
}

/** The maximum number of concurrent requests to nodes. */
const CONCURRENT_NODES = 8;

/** Explains several pods with one request per node. @throws WhyError if the pods cannot be listed */
export async function explainMany(
  api: ApiServer,
  subject: PodsSubject,
  namespace: string,
  nowMs: () => number,
): Promise<ManyExplanation> {
  const { kind, name } = subject;
  const inNamespace = `/namespaces/${encodeURIComponent(namespace)}`;
  const where = subject.allNamespaces ? 'in all namespaces' : `in the namespace ${namespace}`;
  let selector = '';
  let workload: Workload | undefined;
  if (kind !== undefined && name !== undefined) {
    workload = (await get(api, `/apis/${kind.group}/v1${inNamespace}/${kind.plural}/${name}`, (answer) =>
      listRefusal(answer, { resource: kind.plural, group: kind.group, verb: 'get', where, name }),
    )) as Workload;
    selector = `?labelSelector=${encodeURIComponent(selectorText(workload.spec?.selector))}`;
  }
  const { items } = (await get(api, `/api/v1${subject.allNamespaces ? '' : inNamespace}/pods${selector}`, (answer) =>
    listRefusal(answer, { resource: 'pods', group: '', verb: 'list', where }),
  )) as { readonly items: readonly ApiPod[] };
  const nodes = [...new Set(items.flatMap(({ spec }) => spec.nodeName ?? []))];
  const answers = await askNodes(api, nodes);
  const faults = workload === undefined ? [] : workloadFaults(workload);
  return {
    subject: `${kind === undefined ? 'pods' : `${kind.singular}/${name}`} ${where}`,
    pods: items.length,
    ...(faults.length > 0 && { workload: faults }),
    notAsWanted: items.flatMap((pod) => lineOf(pod, answers, nowMs()) ?? []),
  };
}

/** Formats the explanation as text: the workload's faults, then a line per pod. */
export function manyText(
  { subject, pods, workload = [], notAsWanted }: ManyExplanation,
  allNamespaces: boolean,
): string {
  const rows = notAsWanted.flatMap(({ namespace, name, node, causes }) =>
    causes.map((cause, index) => [
      index > 0 ? '' : allNamespaces ? `${namespace}/${name}` : name,
      index > 0 ? '' : (node ?? '-'),
      cause.replaceAll(/\s+/g, ' '),
    ]),
  );
  const width = (column: number): number => rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0);
  const widths = [width(0), width(1)];
  const count = `${pods} pod${pods === 1 ? '' : 's'}, ${notAsWanted.length} of them not in the desired state`;
  return printable(
    [
      ...workload,
      ...rows.map(([pod = '', node = '', cause = '']) =>
        `${pod.padEnd(widths[0] ?? 0)}  ${node.padEnd(widths[1] ?? 0)}  ${cause}`.trimEnd(),
      ),
      `${subject}: ${count}`,
      '',
    ].join('\n'),
  );
}

/** Formats a label selector for a query (`k8s.io/apimachinery/pkg/apis/meta/v1: FormatLabelSelector`). */
export function selectorText(selector: Workload['spec']['selector']): string {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const expressions = (selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
  });
  return [...labels, ...expressions].join(',');
}

/** Returns why a workload lacks pods: quota, admission, a deadline. */
export function workloadFaults({ spec, status }: Workload): readonly string[] {
  const faults = (status?.conditions ?? [])
    .filter(
      ({ type, status: value }) =>
        ((type === 'ReplicaFailure' || type === 'Failed') && value === 'True') ||
        (type === 'Progressing' && value === 'False'),
    )
    .map(({ type, reason, message }) => [type, reason, message].filter(Boolean).join(': '));
  return spec?.replicas === 0 ? [...faults, 'spec.replicas is 0'] : faults;
}

async function get(api: ApiServer, path: string, refusal: (answer: Answer) => WhyError): Promise<unknown> {
  const answer = await api.get(path, 'application/json');
  if (answer.status !== 200) throw refusal(answer);
  return parsed(answer);
}

/** Returns each node's explanation, or why the node could not be queried. */
async function askNodes(api: ApiServer, nodes: readonly string[]): Promise<ReadonlyMap<string, NodeAnswer | string>> {
  const answers = new Map<string, NodeAnswer | string>();
  const left = [...nodes];
  const work = async (): Promise<void> => {
    for (let node = left.shift(); node !== undefined; node = left.shift()) {
      const path = `/api/v1/nodes/${encodeURIComponent(node)}/proxy/debug/explain?format=json`;
      const answer = await api.get(path, 'application/json');
      const isFit = answer.status === 200 && answer.contentType.startsWith('application/json');
      answers.set(
        node,
        isFit
          ? (parsed(answer) as NodeAnswer)
          : (nodeRefusal(answer, { node }).message.split('\n')[0] ?? 'it explains nothing'),
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENT_NODES, nodes.length) }, work));
  return answers;
}

function lineOf(pod: ApiPod, answers: ReadonlyMap<string, NodeAnswer | string>, nowMs: number): PodLine | undefined {
  const { namespace, name } = pod.metadata;
  const node = pod.spec.nodeName || null;
  const phase = pod.status?.phase ?? 'Pending';
  const line = (causes: readonly string[]): PodLine => ({ namespace, name, node, phase, causes });
  if (node === null) return line(explainUnscheduled(pod, nowMs).waitingFor.map(({ what }) => what));
  const answer = answers.get(node);
  if (answer === undefined || typeof answer === 'string') {
    const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (isReady || phase === 'Succeeded') return undefined;
    return line([`${phase}; ${answer ?? 'its node was not queried'}`]);
  }
  const found = answer.waiting?.find((one) => one.pod.namespace === namespace && one.pod.name === name);
  if (found === undefined) return undefined;
  const waits = found.waitingFor?.map(({ what }) => what) ?? [];
  return line(found.causes?.length ? found.causes : waits.length > 0 ? waits : [phase]);
}
