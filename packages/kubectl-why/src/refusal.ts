import type { Answer } from './api-server.ts';
import { WhyError } from './errors.ts';

/** The `Status` object with which the API server rejects a request. */
interface ApiStatus {
  readonly kind: 'Status';
  readonly message?: string;
}

/** Data about a node that returned no explanation. */
export interface NodeFacts {
  readonly node: string;
  /** The kubelet's version; absent if unknown. */
  readonly kubeletVersion?: string | undefined;
}

/** Returns why the API server did not return a pod. */
export function podRefusal(answer: Answer, namespace: string, name: string): WhyError {
  const status = statusOf(answer);
  if (answer.status === 404) return new WhyError(`there is no pod ${name} in the namespace ${namespace}`);
  if (answer.status === 403) {
    return new WhyError(`${status?.message ?? 'forbidden'}\n${ruleText('pods', `in the namespace ${namespace}`)}`);
  }
  return general(answer, status);
}

/** Returns why the API server did not return a workload or a list of pods. */
export function listRefusal(
  answer: Answer,
  asked: {
    readonly resource: string;
    readonly group: string;
    readonly verb: 'get' | 'list';
    readonly where: string;
    /** Name of the requested workload; absent for a list. */
    readonly name?: string;
  },
): WhyError {
  const { resource, group, verb, where, name } = asked;
  const status = statusOf(answer);
  if (answer.status === 404 && name !== undefined) {
    return new WhyError(`there is no ${resource.replace(/s$/, '')} ${name} ${where}`);
  }
  if (answer.status === 403) {
    return new WhyError(`${status?.message ?? 'forbidden'}\n${ruleText(resource, where, { group, verb })}`);
  }
  return general(answer, status);
}

/** Returns why a node returned no explanation. The API server responds with a `Status`, a node with plain text. */
export function nodeRefusal(answer: Answer, { node, kubeletVersion }: NodeFacts, pod?: string): WhyError {
  const status = statusOf(answer);
  const said = status?.message ?? answer.body.trim().slice(0, 500);
  if (answer.status === 403 && status !== undefined) {
    return new WhyError(`${said}\n${ruleText('nodes/proxy', 'in the whole cluster')}`);
  }
  if (answer.status === 401 && status === undefined) {
    return new WhyError(
      `the kubelet of the node ${node} does not accept the API server's client certificate: its clientCAFile must contain the authority of that certificate`,
    );
  }
  if (answer.status === 403) {
    return new WhyError(
      `the kubelet of the node ${node} does not authorize the API server: ${said}\n` +
        'The user of its client certificate needs the cluster role system:kubelet-api-admin.',
    );
  }
  if (answer.status === 404 && status !== undefined) return new WhyError(`there is no node ${node}: ${said}`);
  if (answer.status === 404 && pod !== undefined && said.endsWith('is not known here')) {
    return new WhyError(
      `the node ${node} does not know the pod ${pod}: it has not received the pod yet, or has already removed it`,
    );
  }
  if (answer.status === 404) return new WhyError(noSuchPath(node, kubeletVersion));
  if ([502, 503, 504].includes(answer.status))
    return new WhyError(`the API server does not reach the node ${node}: ${said}`);
  return general(answer, status);
}

function noSuchPath(node: string, kubeletVersion: string | undefined): string {
  const version = kubeletVersion === undefined ? '' : ` (${kubeletVersion})`;
  return kubeletVersion?.includes('node-agent')
    ? `the kubelet of the node ${node}${version} explains nothing: enableDebuggingHandlers is false in its configuration`
    : `the kubelet of the node ${node}${version} is not node-agent's: it has no /debug/explain`;
}

function ruleText(resource: string, where: string, { group = '', verb = 'get' } = {}): string {
  return [
    `It takes a role, ${where}, with this rule:`,
    `  - apiGroups: ["${group}"]`,
    `    resources: ["${resource}"]`,
    `    verbs: ["${verb}"]`,
  ].join('\n');
}

function general(answer: Answer, status: ApiStatus | undefined): WhyError {
  if (answer.status === 401) return new WhyError('the API server does not accept the credentials of the kubeconfig');
  return new WhyError(
    `the API server responded with ${answer.status}: ${status?.message ?? answer.body.trim().slice(0, 500)}`,
  );
}

function statusOf({ body }: Answer): ApiStatus | undefined {
  try {
    const value = JSON.parse(body) as Partial<ApiStatus> | null;
    return value?.kind === 'Status' ? (value as ApiStatus) : undefined;
  } catch {
    return undefined;
  }
}
