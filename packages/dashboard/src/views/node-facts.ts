import { parseQuantity } from '@node-agent/pod-spec';
import type { DashboardNodeObject } from '../ports.ts';
import type { NodeFacts } from '../wire.ts';
import { cut, known } from './cut.ts';
import { thresholdRows } from './threshold-rows.ts';

/** Inputs of {@link nodeFacts}. */
interface Known {
  readonly name: string;
  /** The Node object; absent until it was read. */
  readonly node: DashboardNodeObject | undefined;
  /** Problems of the kubelet's health checks. */
  readonly problems: readonly string[];
  readonly eviction: unknown;
  readonly statsProblem: string | undefined;
}

const MAX_TEXT = 600;
const INFO: readonly (readonly [name: string, field: string])[] = [
  ['Kubelet', 'kubeletVersion'],
  ['Runtime', 'containerRuntimeVersion'],
  ['Kernel', 'kernelVersion'],
  ['System', 'osImage'],
  ['Architecture', 'architecture'],
];

/** Returns what the page shows of the node. */
export function nodeFacts({ name, node, problems, eviction, statsProblem }: Known): NodeFacts {
  const { conditions = [], capacity = {}, addresses = [], nodeInfo = {} } = node?.status ?? {};
  const shown = conditions
    .slice(0, 20)
    .map(({ type, status, message = '' }) => ({ type: cut(type, 100), status, message: cut(message, MAX_TEXT) }));
  const bad = shown
    .filter(({ type, status }) => status !== (type === 'Ready' ? 'True' : 'False'))
    .map(({ type, message }) => `${type === 'Ready' ? 'NotReady' : type}: ${message}`);
  const info = INFO.flatMap(([label, field]) => {
    const value = nodeInfo[field];
    return typeof value === 'string' && value !== '' ? [[label, cut(value, 200)] as const] : [];
  });
  const addressTexts = addresses.slice(0, 10).map(({ type, address }) => [type, cut(address, 200)] as const);
  return known<NodeFacts>({
    name: cut(name, 260),
    isReady: shown.some(({ type, status }) => type === 'Ready' && status === 'True'),
    problems: [...problems.slice(0, 20).map((text) => cut(text, MAX_TEXT)), ...bad],
    conditions: shown,
    cpus: cpusOf(capacity.cpu),
    facts: [...info, ...addressTexts, ...(capacity.pods ? [['Maximum pods', cut(capacity.pods, 50)] as const] : [])],
    thresholds: thresholdRows(eviction),
    statsProblem: statsProblem === undefined ? undefined : cut(statsProblem, MAX_TEXT),
  });
}

function cpusOf(quantity: string | undefined): number | undefined {
  try {
    return quantity === undefined ? undefined : Number(parseQuantity(quantity).milliValue()) / 1000;
  } catch {
    return undefined;
  }
}
