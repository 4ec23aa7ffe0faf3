import { printableLine } from '@node-agent/telemetry';
import { renderTable } from '../table.ts';
import { bytes } from '../units.ts';

/** The used fields of a v1 Node. */
export interface ShownNode {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: Readonly<Record<string, unknown>>;
  };
}

const VERSIONS: readonly (readonly [label: string, field: string])[] = [
  ['Kubelet', 'kubeletVersion'],
  ['Runtime', 'containerRuntimeVersion'],
  ['Kernel', 'kernelVersion'],
  ['OS', 'osImage'],
  ['Architecture', 'architecture'],
];

/** Renders a node: addresses and versions, conditions, capacity. */
export function nodeText({ metadata, status }: ShownNode): string {
  const addresses = (status?.addresses ?? []).map(({ address }) => address).join(', ');
  const facts = [
    ['Name', metadata.name],
    ['Addresses', addresses],
    ...VERSIONS.map(([label, field]) => [label, String(status?.nodeInfo?.[field] ?? '')]),
  ];
  const conditions = (status?.conditions ?? []).map(({ type, status: is, reason = '', message = '' }) => [
    ...[type, is, reason, message],
  ]);
  const allocatable = new Map(Object.entries(status?.allocatable ?? {}));
  const capacity = Object.entries(status?.capacity ?? {}).map(([name, amount]) => [
    ...[name, readable(amount), readable(allocatable.get(name) ?? '')],
  ]);
  return [
    facts
      .map(([label = '', value = '']) => `${`${label}:`.padEnd(14)}${printableLine(String(value)) || '-'}\n`)
      .join(''),
    renderTable(['CONDITION', 'STATUS', 'REASON', 'MESSAGE'], conditions),
    renderTable(['RESOURCE', 'CAPACITY', 'ALLOCATABLE'], capacity),
  ].join('\n');
}

/** Returns why a node is not ready or is short of a resource, as a list that is empty for a healthy node. */
export function nodeProblems({ status }: ShownNode): readonly string[] {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready');
  const pressures = conditions.filter(({ type, status: is }) => type.endsWith('Pressure') && is !== 'False');
  return [
    ...(ready?.status === 'True' ? [] : [`not Ready: ${ready?.message ?? 'the node has no condition Ready'}`]),
    ...pressures.map(({ type, message = '' }) => `${type}: ${message}`),
  ];
}

/** Shows a large amount of bytes in a larger unit; other quantities are unchanged. */
function readable(value: unknown): string {
  const quantity = String(value);
  const kibibytes = /^(\d+)Ki$/.exec(quantity)?.[1];
  if (kibibytes !== undefined) return bytes(Number(kibibytes) * 1024);
  return /^\d{7,}$/.test(quantity) ? bytes(Number(quantity)) : quantity;
}
