import type { Coordinates } from './pull-credential.ts';
import type { PulledRecord, RecordedCredentials } from './pull-record.ts';

const GROUP = 'kubelet.config.k8s.io';
const VERSION = `${GROUP}/v1beta1`;
const VERSIONS = [VERSION, `${GROUP}/v1alpha1`];

/** Serializes an ImagePullIntent as upstream does. An intent records that a pull of the image has started. */
export function encodeIntent(image: string): string {
  return `${JSON.stringify({ kind: 'ImagePullIntent', apiVersion: VERSION, image })}\n`;
}

/** Returns the image of an ImagePullIntent. @throws Error if the text is not an ImagePullIntent */
export function decodeIntent(text: string): string {
  const fields = documentOf(text, 'ImagePullIntent', ['image']);
  return textOf(fields, 'image', 'image');
}

/** Serializes an ImagePulledRecord as upstream does. */
export function encodeRecord({ lastUpdatedMs, imageRef, credentialMapping }: PulledRecord): string {
  const lastUpdatedTime = `${new Date(lastUpdatedMs).toISOString().slice(0, 19)}Z`;
  const hasAny = Object.keys(credentialMapping).length > 0;
  const record = { kind: 'ImagePulledRecord', apiVersion: VERSION, lastUpdatedTime, imageRef };
  return `${JSON.stringify({ ...record, ...(hasAny && { credentialMapping }) })}\n`;
}

/** Parses an ImagePulledRecord strictly, because it decides who may use an image. @throws Error naming the field */
export function decodeRecord(text: string): PulledRecord {
  const fields = documentOf(text, 'ImagePulledRecord', ['lastUpdatedTime', 'imageRef', 'credentialMapping']);
  const time = fields.lastUpdatedTime ?? null;
  const lastUpdatedMs = time === null ? 0 : Date.parse(textOf(fields, 'lastUpdatedTime', 'lastUpdatedTime'));
  if (Number.isNaN(lastUpdatedMs)) throw new Error('lastUpdatedTime must be a time');
  const mapping = recordOf(fields.credentialMapping ?? {}, 'credentialMapping');
  const entries = Object.entries(mapping).map(([name, value]): [string, RecordedCredentials] => [
    name,
    credentialsOf(value, `credentialMapping[${JSON.stringify(name)}]`),
  ]);
  return {
    lastUpdatedMs,
    imageRef: textOf(fields, 'imageRef', 'imageRef'),
    credentialMapping: Object.fromEntries(entries),
  };
}

function credentialsOf(value: unknown, at: string): RecordedCredentials {
  const fields = recordOf(value, at);
  onlyFields(fields, ['kubernetesSecrets', 'kubernetesServiceAccounts', 'nodePodsAccessible'], at);
  const { nodePodsAccessible = false } = fields;
  if (typeof nodePodsAccessible !== 'boolean') throw new Error(`${at}.nodePodsAccessible must be true or false`);
  const secrets = listOf(fields.kubernetesSecrets, `${at}.kubernetesSecrets`).map(([secret, where]) => {
    onlyFields(secret, ['uid', 'namespace', 'name', 'credentialHash'], where);
    return { ...coordinatesOf(secret, where), credentialHash: textOf(secret, 'credentialHash', where) };
  });
  const accounts = listOf(fields.kubernetesServiceAccounts, `${at}.kubernetesServiceAccounts`).map(
    ([account, where]) => {
      onlyFields(account, ['uid', 'namespace', 'name'], where);
      return coordinatesOf(account, where);
    },
  );
  return {
    ...(secrets.length > 0 && { kubernetesSecrets: secrets }),
    ...(accounts.length > 0 && { kubernetesServiceAccounts: accounts }),
    ...(nodePodsAccessible && { nodePodsAccessible }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function documentOf(text: string, kind: string, known: readonly string[]): Fields {
  const fields = recordOf(JSON.parse(text), 'the document');
  if (fields.kind !== kind) throw new Error(`kind is not ${kind}`);
  if (typeof fields.apiVersion !== 'string' || !VERSIONS.includes(fields.apiVersion)) {
    throw new Error(`apiVersion ${JSON.stringify(fields.apiVersion)} is not known`);
  }
  onlyFields(fields, ['kind', 'apiVersion', ...known], 'the document');
  return fields;
}

function onlyFields(fields: Fields, known: readonly string[], at: string): void {
  for (const name of Object.keys(fields)) {
    if (!known.includes(name)) throw new Error(`${at}: unknown field ${JSON.stringify(name)}`);
  }
}

function coordinatesOf(fields: Fields, at: string): Coordinates {
  return {
    uid: textOf(fields, 'uid', at),
    namespace: textOf(fields, 'namespace', at),
    name: textOf(fields, 'name', at),
  };
}

function listOf(value: unknown, at: string): readonly (readonly [Fields, string])[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${at} is not a list`);
  return value.map((entry: unknown, index) => [recordOf(entry, `${at}[${index}]`), `${at}[${index}]`]);
}

function textOf(fields: Fields, name: string, at: string): string {
  const value = fields[name] ?? '';
  if (typeof value === 'string') return value;
  throw new Error(`${at}: ${name} is not a string`);
}

function recordOf(value: unknown, what: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`${what} is not an object`);
}
