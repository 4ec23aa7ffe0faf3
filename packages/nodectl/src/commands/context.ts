import type { Pod } from '@node-agent/pod-spec';
import { printableJson } from '@node-agent/telemetry';
import type { KubeletClient } from '../kubelet-client.ts';
import type { Options } from '../options.ts';
import type { Terminal } from '../terminal.ts';

/** The objects that every command gets. */
export interface Context {
  readonly client: KubeletClient;
  readonly options: Pick<Options, 'namespace' | 'output' | 'intervalMs'>;
  readonly terminal: Terminal;
}

/** Returns the pods of the node. Entries that are not pods are left out. @throws CtlError */
export async function podsOf(client: Pick<KubeletClient, 'json'>): Promise<readonly Pod[]> {
  const { items } = (await client.json('/pods')) as { readonly items?: unknown };
  return Array.isArray(items) ? items.filter(isPod) : [];
}

function isPod(value: unknown): value is Pod {
  const { metadata, spec } = (value ?? {}) as {
    readonly metadata?: Partial<Pod['metadata']>;
    readonly spec?: Partial<Pod['spec']>;
  };
  return typeof metadata?.name === 'string' && Array.isArray(spec?.containers);
}

/** Writes a value as JSON or YAML, or as the text that `table` returns. */
export async function show({ options, terminal }: Context, value: unknown, table: () => string): Promise<void> {
  terminal.stdout.write(await rendered(options.output, value, table));
}

async function rendered(output: Options['output'], value: unknown, table: () => string): Promise<string> {
  if (output === 'json') return `${printableJson(JSON.stringify(value, null, 2))}\n`;
  if (output !== 'yaml') return table();
  return (await import('../printable-yaml.ts')).printableYaml(value);
}

/** Returns the path of an endpoint of a container or pod. */
export function podPath(endpoint: string, { metadata }: Pod, container?: string): string {
  const parts = [
    endpoint,
    metadata.namespace ?? 'default',
    metadata.name,
    ...(container === undefined ? [] : [container]),
  ];
  return `/${parts.map(encodeURIComponent).join('/')}`;
}
