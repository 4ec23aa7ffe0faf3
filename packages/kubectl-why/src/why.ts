import { printable, printableJson } from '@node-agent/telemetry';
import type { Answer, ApiServer } from './api-server.ts';
import { WhyError } from './errors.ts';
import { explainMany, manyText } from './many.ts';
import type { Options } from './options.ts';
import { parsed } from './parsed.ts';
import { nodeRefusal, podRefusal } from './refusal.ts';
import { type ApiPod, explainUnscheduled, unscheduledText } from './unscheduled.ts';

/** An explanation as it is shown, and a key that changes when its content changes ('' if not watching). */
export interface Explained {
  readonly shown: string;
  readonly key: string;
}

/** The line that names the pod, after the causes. */
const POD_LINE = /^Pod\b.*$/m;

/** Fetches an explanation once. @throws WhyError with the reason why there is none */
export async function explain(
  api: ApiServer,
  { subject, namespace = api.namespace, output, watch }: Pick<Options, 'subject' | 'namespace' | 'output' | 'watch'>,
  nowMs: () => number = Date.now,
): Promise<Explained> {
  if ('node' in subject) return await fromNode(api, subject.node, '', { output, watch });
  if ('pods' in subject) {
    const explanation = await explainMany(api, subject.pods, namespace, nowMs);
    const text = (): string => manyText(explanation, subject.pods.allNamespaces);
    const shown = output === 'json' ? `${printableJson(JSON.stringify(explanation))}\n` : text();
    const lines = explanation.notAsWanted.map(({ causes, ...line }) => [line, steady(causes)]);
    return { shown, key: JSON.stringify([explanation.pods, explanation.workload, lines]) };
  }
  const answer = await api.get(
    `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${subject.pod}`,
    'application/json',
  );
  if (answer.status !== 200) throw podRefusal(answer, namespace, subject.pod);
  const pod = parsed(answer) as ApiPod;
  if (!pod.spec?.nodeName) {
    const explanation = explainUnscheduled(pod, nowMs());
    const shown =
      output === 'json' ? `${printableJson(JSON.stringify(explanation))}\n` : printable(unscheduledText(explanation));
    return { shown, key: keyOf(explanation) };
  }
  const path = `/${encodeURIComponent(namespace)}/${subject.pod}`;
  return await fromNode(api, pod.spec.nodeName, path, { output, watch });
}

async function fromNode(
  api: ApiServer,
  node: string,
  path: string,
  { output, watch }: Pick<Options, 'output' | 'watch'>,
): Promise<Explained> {
  const base = `/api/v1/nodes/${encodeURIComponent(node)}`;
  const ask = async (format: 'json' | 'text'): Promise<Answer> => {
    const accept = format === 'json' ? 'application/json' : 'text/plain';
    const answer = await api.get(`${base}/proxy/debug/explain${path}?format=${format}`, accept);
    if (answer.status === 200) return explanation(answer, node, accept);
    const kubeletVersion = answer.status === 404 ? await versionOf(api, base) : undefined;
    throw nodeRefusal(answer, { node, kubeletVersion }, path === '' ? undefined : path.slice(1));
  };
  const json = watch || output === 'json' ? await ask('json') : undefined;
  const key = json === undefined ? '' : keyOf(parsed(json));
  if (json !== undefined && output === 'json') return { shown: printableJson(json.body), key };
  const { body } = await ask('text');
  return {
    shown: printable(path === '' ? `Node ${node}: ${body}` : body.replace(POD_LINE, `$&, on the node ${node}`)),
    key,
  };
}

/** Returns the response of a node. @throws WhyError if the response comes from another server, such as a proxy */
function explanation(answer: Answer, node: string, type: string): Answer {
  if (answer.contentType.startsWith(type)) return answer;
  throw new WhyError(`the response of node ${node} is not an explanation, but "${answer.contentType}"`);
}

/** Returns the kubelet version of a node, or `undefined` if the user may not read the node. */
async function versionOf(api: ApiServer, path: string): Promise<string | undefined> {
  const answer = await api.get(path, 'application/json');
  if (answer.status !== 200) return undefined;
  const node = parsed(answer) as { readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } } };
  return node.status?.nodeInfo?.kubeletVersion;
}

/** Removes durations from causes, such as the countdown in `next restart in 5 s`. */
function steady(causes: unknown): unknown {
  return Array.isArray(causes) ? causes.map((cause) => String(cause).replaceAll(/\d+ (s|min)\b/g, '')) : undefined;
}

/** Returns a key of an explanation that changes with its content, but not with durations. */
function keyOf(value: unknown): string {
  const { phase, reason, message, causes, waitingFor, next, steps, problems, waiting } = (value ?? {}) as Record<
    string,
    unknown
  >;
  const words = (waits: unknown): unknown => (Array.isArray(waits) ? waits.map((wait) => wait?.what) : undefined);
  const pods = Array.isArray(waiting)
    ? waiting.map((one) => [one?.pod, one?.phase, words(one?.waitingFor)])
    : undefined;
  return JSON.stringify([phase, reason, message, words(waitingFor), steady(causes), next, steps, problems, pods]);
}
