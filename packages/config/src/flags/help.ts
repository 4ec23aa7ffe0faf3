import { FLAG_DEFAULTS } from '../defaults.ts';
import { isObject } from '../merge.ts';
import type { FieldType, Json } from '../schema/field.ts';
import { mirrorFlags } from './command-line.ts';
import { type KubeletFlag, kubeletFlags } from './kubelet-flags.ts';

interface HelpEntry {
  readonly name: string;
  readonly shorthand: string | undefined;
  readonly type: string;
  readonly default: string;
  readonly doc: string;
  readonly deprecated: boolean;
}

const INTRODUCTION = `The kubelet is the agent of a node. It runs the pods of the node on a container runtime, keeps them running, and reports
their status. Pods come from manifests in a directory or at a URL, and from the API server.

Flags that mirror a field of the configuration file are deprecated: set the field in the file of --config instead.
A flag overrides --config-dir, which overrides --config, which overrides the default.`;

/** Flags that are not deprecated, by topic. */
const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Configuration', ['config', 'config-dir', 'strict-config', 'fail-cgroupv1', 'seccomp-default']],
  ['Cluster', ['kubeconfig', 'bootstrap-kubeconfig', 'cert-dir', 'cloud-provider', 'provider-id']],
  [
    'Node',
    [
      ...['hostname-override', 'node-ip', 'node-labels', 'root-dir', 'admin-socket', 'dashboard', 'dashboard-port'],
      ...['lock-file', 'exit-on-lock-contention'],
    ],
  ],
  ['Images and runtime', ['image-credential-provider-bin-dir', 'image-credential-provider-config', 'runtime-cgroups']],
  ['Log', ['v', 'vmodule', 'log-flush-frequency']],
  ['Other', ['help', 'all', 'version', 'housekeeping-interval']],
];

/**
 * Returns the text of --help: the flags that are not deprecated, by topic.
 * @param all whether the deprecated flags follow as a last group, by name (`--help --all`)
 */
export function helpText({ all = false }: { readonly all?: boolean } = {}): string {
  const entries = [...kubeletFlags.map(ownEntry), ...mirrorFlags.map(mirrorEntry)];
  const group = (title: string, members: readonly HelpEntry[]): string =>
    `${title}:\n${members.map(entryText).join('\n')}\n`;
  const topics = GROUPS.map(([title, names]) =>
    group(
      title,
      names.flatMap((name) => entries.find((entry) => entry.name === name) ?? []),
    ),
  );
  const deprecated = entries.filter((entry) => entry.deprecated).sort((a, b) => (a.name < b.name ? -1 : 1));
  const last = all
    ? group('Deprecated', deprecated)
    : `kubelet --help --all also lists ${deprecated.length} deprecated flags.\n`;
  return `${INTRODUCTION}\n\nUsage:\n  kubelet [flags]\n  kubelet completion bash|zsh|fish\n  kubelet cluster [up|down] [flags]\n\n${[...topics, last].join('\n')}`;
}

function ownEntry(flag: KubeletFlag): HelpEntry {
  const types: Record<KubeletFlag['type'], string> = {
    boolean: '',
    integer: 'int32',
    string: 'string',
    duration: 'duration',
    labels: 'key=value,...',
    version: 'version[=true]',
  };
  return {
    name: flag.name,
    shorthand: flag.shorthand,
    type: types[flag.type],
    default: flag.default === 'false' ? '' : flag.default,
    doc: flag.doc,
    deprecated: flag.deprecated !== undefined,
  };
}

function mirrorEntry({ flag, field, path }: (typeof mirrorFlags)[number]): HelpEntry {
  // The help shows the defaults without --config, some of which differ from the defaults of a file.
  const own = FLAG_DEFAULTS.find(([at]) => at.join('.') === path.join('.'))?.[1];
  return {
    name: flag.name,
    shorthand: flag.shorthand,
    type: flag.syntax === 'ip' ? 'ip' : typeText(field.type),
    default: defaultText(own ?? field.default),
    doc: field.doc,
    deprecated: flag.deprecated !== false,
  };
}

function typeText(type: FieldType): string {
  switch (type.kind) {
    case 'boolean':
      return '';
    case 'integer':
      return `${type.unsigned ? 'u' : ''}int${type.bits}`;
    case 'enum':
      return 'string';
    case 'bytes':
      return 'quantity';
    case 'list':
      return 'strings';
    case 'map':
      return 'key=value,...';
    default:
      return type.kind;
  }
}

function defaultText(value: Json | undefined): string {
  return value === undefined || value === false || isObject(value) ? '' : String(value);
}

const WIDTH = 100;

function entryText(entry: HelpEntry): string {
  const shorthand = entry.shorthand === undefined ? '    ' : `-${entry.shorthand}, `;
  const notes = [entry.default === '' ? '' : `(default ${entry.default})`, entry.deprecated ? '(DEPRECATED)' : ''];
  const words = [entry.doc, ...notes]
    .filter((part) => part !== '')
    .join(' ')
    .split(' ');
  const lines = [`  ${shorthand}--${entry.name}${entry.type === '' ? '' : ` ${entry.type}`}`];
  let line = '         ';
  for (const word of words) {
    if (line.length + word.length + 1 > WIDTH) {
      lines.push(line);
      line = '         ';
    }
    line += ` ${word}`;
  }
  return [...lines, line].join('\n');
}
