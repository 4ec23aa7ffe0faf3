import { kubeletFlags } from '../src/flags/kubelet-flags.ts';
import type { Field, FieldType, Support } from '../src/schema/field.ts';
import { fieldGroups } from '../src/schema/kubelet-configuration.ts';

/** Returns the content of docs/reference/configuration.md. */
export function configurationPage(): string {
  return [
    '# Configuration',
    '',
    '<!-- Written from the table in packages/config/src by `pnpm run docs` in packages/config; change it there. -->',
    '',
    'The kubelet reads `KubeletConfiguration` (`kubelet.config.k8s.io/v1beta1`) as YAML or JSON from `--config`, then the',
    'drop-in files of `--config-dir` (`*.conf`, in lexical order, including subdirectories), then its flags. Precedence,',
    'highest first: flags, drop-in files, the file of `--config`, defaults. A drop-in file is applied as a JSON merge patch:',
    'objects and maps are merged by key, lists are replaced, and null resets a field to its default.',
    '',
    'The kubelet refuses to start if a value has the wrong type or is out of range. Each error names the file, the line and',
    'the path of the field, and all errors are reported together. Unknown fields, duplicate keys (the last value is used),',
    'documents after the first and entries of `clusterDNS` that are not IP addresses cause warnings, as in the Go kubelet;',
    'with `--strict-config` they are errors.',
    '',
    'The column *State* says whether this kubelet implements a field:',
    '',
    '- *supported*: the value takes effect.',
    '- *refused*: the kubelet does not start if the value differs from the default.',
    '- *warning*: a value other than the default causes a warning and has no effect.',
    '- *no effect*: the value is accepted and has no effect, for the reason in the column.',
    '',
    'The column *Change* says when a changed value takes effect. The kubelet watches its files, and reads them again on',
    'SIGHUP; `/configz` lists what it applied and what needs a restart.',
    '',
    '- *live*: within moments, while the kubelet runs.',
    '- *restart*: with the next start of the kubelet.',
    '',
    'A changed `evictionHard` changes evictions at once, and the allocatable resources of the node with the next start. A',
    'larger `maxPods` does not enlarge the ID range of user namespaces: when all ranges are in use, only pods without a user',
    'namespace can start.',
    '',
    ...fieldGroups.flatMap((group) => [
      `## ${group.title}`,
      '',
      '| Field | Type | Default | Flag | State | Change | Meaning |',
      '|---|---|---|---|---|---|---|',
      ...group.fields.flatMap((line) => rows(line, '')),
      '',
    ]),
    '## Flags that are not fields',
    '',
    '| Flag | Default | State | Meaning |',
    '|---|---|---|---|',
    ...kubeletFlags.map(
      (flag) =>
        `| \`--${flag.name}\` | ${code(flag.default)} | ${state(flag.support)}${flag.deprecated ? ', deprecated' : ''} | ${cell(flag.doc)} |`,
    ),
    '',
  ].join('\n');
}

function rows(line: Field, prefix: string): readonly string[] {
  const path = prefix + line.name;
  if (line.type.kind === 'object') return line.type.fields.flatMap((inner) => rows(inner, `${path}.`));
  const own = `| \`${path}\` | ${typeName(line.type)} | ${line.default === undefined ? 'unset' : code(line.default)} | ${
    line.flag === undefined ? '' : `\`--${line.flag.name}\``
  } | ${state(line.support)} | ${line.support.state === 'inert' ? '' : line.reload} | ${cell(line.doc)} |`;
  const inner = line.type.kind === 'list' && line.type.of.kind === 'object' ? line.type.of.fields : [];
  return [
    own,
    ...inner.map((entry) => `| \`${path}[].${entry.name}\` | ${typeName(entry.type)} | | | | | ${cell(entry.doc)} |`),
  ];
}

function typeName(type: FieldType): string {
  switch (type.kind) {
    case 'integer':
      return `${type.unsigned ? 'u' : ''}int${type.bits}`;
    case 'enum':
      return type.values
        .filter((value) => value !== '')
        .map((value) => `\`${value}\``)
        .join(', ');
    case 'list':
      return `list of ${typeName(type.of)}`;
    case 'map':
      return `map of ${typeName(type.of)}`;
    case 'bytes':
      return 'quantity';
    default:
      return type.kind;
  }
}

function state(support: Support): string {
  switch (support.state) {
    case 'supported':
      return 'supported';
    case 'inert':
      return `no effect: ${cell(support.because)}`;
    case 'unsupported':
      return `${support.severity === 'refuse' ? 'refused' : 'warning'}: ${cell(support.because)}`;
  }
}

function code(value: unknown): string {
  return value === '' ? '' : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
