import { type KubeletFlag, kubeletFlags } from '../src/flags/kubelet-flags.ts';
import type { Field, FieldType } from '../src/schema/field.ts';
import { configurationFields } from '../src/schema/kubelet-configuration.ts';

const HEADER = '// Written from the table in src/schema and src/flags by `pnpm run docs`; change it there.\n';

/** Returns the TypeScript interfaces of the normal form, of the wire form and of the flags. */
export function generatedTypes(): string {
  const normal = new Map<string, string>();
  const wire = new Map<string, string>();
  const root = interfaceText('KubeletConfiguration', configurationFields, normal, 'normal');
  const wireRoot = interfaceText('KubeletConfigurationV1beta1', configurationFields, wire, 'wire');
  return [
    HEADER.trimEnd(),
    ...normal.values(),
    '/**\n * The configuration that the kubelet works with: every field of KubeletConfiguration v1beta1, defaulted and checked,\n' +
      ` * durations in milliseconds (\`...Ms\`), sizes in bytes (\`...Bytes\`). Fields without a default are optional.\n */\n${root}`,
    ...[...wire].flatMap(([name, text]) => (normal.has(name) ? [] : [text])),
    '/** KubeletConfiguration v1beta1 as a file or /configz has it: k8s.io/kubelet/config/v1beta1, 1.36. */\n' +
      wireRoot.replace(
        '{',
        "{\n  readonly apiVersion?: 'kubelet.config.k8s.io/v1beta1';\n  readonly kind?: 'KubeletConfiguration';",
      ),
    flagsText(),
  ].join('\n\n');
}

type Form = 'normal' | 'wire';

function interfaceText(name: string, fields: readonly Field[], others: Map<string, string>, form: Form): string {
  const lines = fields.flatMap((line) => {
    const type = typeText(line.type, others, form);
    const optional = form === 'wire' || line.optional;
    const property = form === 'wire' ? line.name : line.property;
    return [`  /** ${line.doc}${defaultText(line)} */`, `  readonly ${property}${optional ? '?' : ''}: ${type};`];
  });
  return `export interface ${name} {\n${lines.join('\n')}\n}`;
}

/** Returns the type of a union of strings in the formatter's layout: on one line if the line fits. */
function enumText(name: string, values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const line = `export type ${name} = ${quoted.join(' | ')};`;
  return line.length <= 120 ? line : `export type ${name} =\n${quoted.map((value) => `  | ${value}`).join('\n')};`;
}

function defaultText(line: Field): string {
  if (line.default === undefined || line.type.kind === 'object') return '';
  return ` Default: ${typeof line.default === 'string' ? line.default || "''" : JSON.stringify(line.default)}.`;
}

function typeText(type: FieldType, others: Map<string, string>, form: Form): string {
  switch (type.kind) {
    case 'boolean':
      return 'boolean';
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'quantity':
      return 'string';
    case 'duration':
      return form === 'normal' ? 'number' : type.integerNanoseconds ? 'string | number' : 'string';
    case 'bytes':
      return form === 'normal' ? 'number' : 'string';
    case 'enum':
      others.set(type.typeName, enumText(type.typeName, type.values));
      return type.typeName;
    case 'list': {
      const of = typeText(type.of, others, form);
      return of.includes('|') ? `readonly (${of})[]` : `readonly ${of}[]`;
    }
    case 'map':
      return `Readonly<Record<string, ${typeText(type.of, others, form)}>>`;
    case 'object': {
      const name = form === 'wire' ? `${type.typeName}V1beta1` : type.typeName;
      const text = interfaceText(name, type.fields, others, form);
      others.set(name, `/** ${type.doc} */\n${text}`);
      return name;
    }
  }
}

const FLAG_TYPES: Record<KubeletFlag['type'], string> = {
  boolean: 'boolean',
  integer: 'number',
  duration: 'number',
  string: 'string',
  labels: 'Readonly<Record<string, string>>',
  version: "'false' | 'true' | 'raw'",
};

function flagsText(): string {
  const lines = kubeletFlags.flatMap((flag) =>
    flag.property === undefined
      ? []
      : [
          `  /** ${flag.doc} Default: ${flag.default || "''"}. */`,
          `  readonly ${flag.property}: ${FLAG_TYPES[flag.type]};`,
        ],
  );
  return `/** The flags of the command line that are not fields of the configuration. */\nexport interface KubeletFlags {\n${lines.join('\n')}\n}\n`;
}
