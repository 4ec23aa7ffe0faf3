// Generates the TypeScript files in src/generated from the text of schema/api.txt.

const HEADER = '// Generated from schema/api.txt by scripts/generate.ts; `pnpm run generate` makes it anew.\n';
const scalars: Readonly<Record<string, string>> = {
  s: 'string',
  q: 'string',
  n: 'number',
  l: 'number',
  b: 'boolean',
  d: 'string',
  i: 'number | string',
};

interface Field {
  readonly name: string;
  readonly required: boolean;
  /** Type of the field, in the letters that schema/api.txt explains. */
  readonly type: string;
}

interface Type {
  /** The type's API group, version and name in Kubernetes: `core/v1.PodSpec`. */
  readonly origin: string;
  readonly fields: readonly Field[];
}

/** The types by name, each with its fields. `kinds` names the types that are API objects. */
export interface Schema {
  readonly kinds: readonly string[];
  readonly types: ReadonlyMap<string, Type>;
}

/** Reads schema/api.txt. */
export function readSchema(text: string): Schema {
  const types = new Map<string, Type>();
  let kinds: readonly string[] = [];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [name = '', ...rest] = line.split(' ');
    const [origin = '', ...fields] = rest;
    if (name === 'kinds') kinds = rest;
    else types.set(name, { origin, fields: fields.map(readField) });
  }
  return { kinds, types };
}

function readField(text: string): Field {
  const [, name, required, type] = /^(\w+)(!?):(\S+)$/.exec(text) ?? [];
  if (name === undefined || type === undefined) throw new Error(`schema/api.txt: not a field: ${text}`);
  return { name, required: required === '!', type };
}

/**
 * Returns one interface per type. `metadata` is required in objects of the API. `Pod` is left out, because src/api.ts
 * declares it by hand.
 */
export function apiTypes({ kinds, types }: Schema): string {
  const interfaces = [...types]
    .filter(([name]) => name !== 'Pod')
    .map(([name, { origin, fields }]) => {
      const lines = fields.map((field) => {
        const required = field.required || (field.name === 'metadata' && kinds.includes(name));
        return `  readonly ${field.name}${required ? '' : '?'}: ${typescript(field.type)};\n`;
      });
      const [group, own] = origin.split('.');
      return `\n/** \`${own}\` of ${group}. */\nexport interface ${name} {\n${lines.join('')}}\n`;
    });
  return HEADER + interfaces.join('');
}

function typescript(type: string): string {
  if (type.startsWith('[')) {
    const item = typescript(type.slice(1));
    return `readonly ${item.includes(' ') ? `(${item})` : item}[]`;
  }
  if (type.startsWith('{')) return `{ readonly [key: string]: ${typescript(type.slice(1))} }`;
  if (type === 'a') return 'unknown';
  return scalars[type] ?? type;
}

/** Returns the generated table with the fields of a v1 Pod and of all types that a Pod contains. */
export function podTable({ types }: Schema): string {
  const reached = new Set<string>();
  const visit = (name: string) => {
    if (!types.has(name) || reached.has(name)) return;
    reached.add(name);
    for (const { type } of types.get(name)?.fields ?? []) visit(type.replace(/^[[{]+/, ''));
  };
  visit('Pod');
  const lines = [...reached].sort().map((name) => {
    const fields = (types.get(name)?.fields ?? []).map((field) => `${field.name}:${field.type}`);
    return `  ${name}: '${fields.join(' ')}',\n`;
  });
  return `${HEADER}
/**
 * The fields of the types that a v1 Pod is made of, as \`name:type\`. Types are \`s\` string, \`q\` quantity, \`n\` integer of
 * 32 bits, \`l\` of 64 bits, \`b\` boolean, \`d\` time, \`i\` integer or string, \`a\` anything, the name of another type,
 * and \`[\` or \`{\` before any of them for a list or map of it.
 */
export const podTypes: Readonly<Record<string, string>> = {
${lines.join('')}};
`;
}
