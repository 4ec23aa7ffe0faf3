// Writes schema/api.txt: the names, types and requiredness of the fields of the API types that the project uses. The
// fields come from the OpenAPI document of a Kubernetes release (api/openapi-spec/swagger.json in its source). This
// script is needed for a new release only: `node scripts/extract-schema.ts <swagger.json> <version> && pnpm run
// generate`. No descriptions are copied from the document.
import { readFileSync, writeFileSync } from 'node:fs';

const roots = [
  'api.core.v1.Pod',
  'api.core.v1.Node',
  'api.core.v1.Namespace',
  'api.core.v1.Service',
  'api.core.v1.Secret',
  'api.core.v1.ConfigMap',
  'api.core.v1.ServiceAccount',
  'api.core.v1.PersistentVolume',
  'api.core.v1.PersistentVolumeClaim',
  'api.core.v1.Event',
  'api.events.v1.Event',
  'api.coordination.v1.Lease',
  'api.node.v1.RuntimeClass',
  'api.storage.v1.CSIDriver',
  'api.storage.v1.CSINode',
  'api.storage.v1.VolumeAttachment',
  'api.certificates.v1.CertificateSigningRequest',
  'api.certificates.v1beta1.ClusterTrustBundle',
  'api.authentication.v1.TokenRequest',
  'api.authentication.v1.TokenReview',
  'api.authorization.v1.SubjectAccessReview',
];

/**
 * Names of types whose last word is also the name of a type in another group. All other types are named after the last
 * word of their id.
 */
const names: Readonly<Record<string, string>> = {
  'api.core.v1.Event': 'CoreEvent',
  'api.core.v1.EventSeries': 'CoreEventSeries',
  'api.core.v1.ResourceClaim': 'ContainerResourceClaim',
  'api.storage.v1.TokenRequest': 'CSIDriverTokenRequest',
};

const scalars: Readonly<Record<string, string>> = {
  'apimachinery.pkg.api.resource.Quantity': 'q',
  'apimachinery.pkg.apis.meta.v1.Time': 'd',
  'apimachinery.pkg.apis.meta.v1.MicroTime': 'd',
  'apimachinery.pkg.util.intstr.IntOrString': 'i',
};

interface Property {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly items?: Property;
  readonly additionalProperties?: Property;
}

interface Definition {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

const [file, version] = process.argv.slice(2);
if (file === undefined || version === undefined)
  throw new Error('usage: node scripts/extract-schema.ts <swagger.json> <version>');
const { definitions } = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly definitions: Readonly<Record<string, Definition>>;
};
const types = new Map<string, { readonly id: string; fields: readonly string[] }>();

/** Returns the type of a property in the letters that schema/api.txt explains. */
function letters(at: string, { $ref, type, format, items, additionalProperties }: Property): string {
  if ($ref !== undefined) return reference($ref.replace('#/definitions/io.k8s.', ''));
  if (type === 'array' && items !== undefined) return `[${letters(at, items)}`;
  if (type === 'object') return additionalProperties ? `{${letters(at, additionalProperties)}` : 'a';
  if (type === 'string') return 's';
  if (type === 'boolean') return 'b';
  if (type === 'integer') return format === 'int64' ? 'l' : 'n';
  throw new Error(`${at}: no letter for ${type} ${format ?? ''}`);
}

function reference(id: string): string {
  const definition = definitions[`io.k8s.${id}`];
  if (definition === undefined) throw new Error(`no definition of ${id}`);
  if (scalars[id] !== undefined) return scalars[id];
  if (definition.properties === undefined) return 'a';
  const name = names[id] ?? id.slice(id.lastIndexOf('.') + 1);
  const known = types.get(name);
  if (known === undefined) visit(id, name, definition);
  else if (known.id !== id) throw new Error(`${known.id} and ${id} are both called ${name}: give one of them a name`);
  return name;
}

function visit(id: string, name: string, { properties = {}, required = [] }: Definition): void {
  const entry: { readonly id: string; fields: readonly string[] } = { id, fields: [] };
  types.set(name, entry);
  entry.fields = Object.entries(properties)
    .sort(byName)
    .map(([key, property]) => `${key}${required.includes(key) ? '!' : ''}:${letters(`${id}.${key}`, property)}`);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Returns the API group, version and name of a type: `core/v1.PodSpec` for `api.core.v1.PodSpec`. */
function origin(id: string): string {
  const [name, version, group] = id.split('.').reverse();
  return `${group}/${version}.${name}`;
}

const kinds = roots.map(reference);
const lines = [...types].sort(byName).map(([name, { id, fields }]) => [name, origin(id), ...fields].join(' '));
writeFileSync(
  new URL('../schema/api.txt', import.meta.url),
  `# The types of the Kubernetes API ${version} that this project uses. Written by scripts/extract-schema.ts, do not edit.
# A line is a type, what it is called in the API, and its fields, as name:type, or name!:type where the field is required. Types are s string, q quantity,
# n integer of 32 bits, l of 64 bits, b boolean, d time, i integer or string, a anything, the name of another type, and [ or {
# before any of them for a list or map of it. The line "kinds" names the types that are objects of the API themselves.
kinds ${kinds.join(' ')}
${lines.join('\n')}
`,
);
