/** A login for a registry. The login is a secret and must not be logged. */
export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
  /**
   * The owner of the login (the port `PullCredential` of `images`). If absent, the login belongs to the node and all
   * its pods may use it.
   */
  readonly source?: LoginSource;
}

/** The API object through which a login was obtained. */
export type LoginSource =
  | { readonly secret: ObjectCoordinates & { readonly credentialHash: string } }
  | { readonly serviceAccount: ObjectCoordinates };

/** Identifies an API object, including its UID, because a name may be reused. */
export interface ObjectCoordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A login in a configuration. */
export interface ConfiguredLogin {
  readonly username: string;
  readonly password: string;
  /** E-mail address; absent if empty. The address is not sent to registries, but is part of the login's hash. */
  readonly email?: string;
}

/** Logins by registry, as in a docker configuration. */
export type DockerConfig = ReadonlyMap<string, ConfiguredLogin>;

/**
 * Parses `~/.docker/config.json` (the secret type `kubernetes.io/dockerconfigjson`). Only the field `auths` is read.
 * @throws Error that describes the problem without quoting the text, which contains secrets
 */
export function parseDockerConfigJson(text: string): DockerConfig {
  const logins = new Map<string, ConfiguredLogin>();
  for (const [key, auths] of Object.entries(recordOf(parseJson(text) ?? {}, 'the document'))) {
    if (!AUTHS.test(key)) continue;
    if (auths === null) logins.clear();
    else addLogins(logins, recordOf(auths, 'auths'), 'auths');
  }
  return logins;
}

/**
 * Parses the older `~/.dockercfg` (the secret type `kubernetes.io/dockercfg`).
 * @throws Error that describes the problem without quoting the text, which contains secrets
 */
export function parseDockercfg(text: string): DockerConfig {
  const logins = new Map<string, ConfiguredLogin>();
  addLogins(logins, recordOf(parseJson(text) ?? {}, 'the document'), '');
  return logins;
}

/**
 * Field names match in any case, as in Go's `encoding/json`, with which upstream reads these files. Names of registries
 * are case-sensitive.
 */
const AUTHS = /^auths$/iu;
const FIELDS = { auth: /^auth$/iu, username: /^username$/iu, password: /^password$/iu, email: /^email$/iu };

type Field = keyof typeof FIELDS;

/** Parses JSON. The error does not contain the parser's message, which may quote the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}

function addLogins(logins: Map<string, ConfiguredLogin>, entries: Fields, under: string): void {
  for (const [registry, entry] of Object.entries(entries)) {
    logins.set(registry, loginOf(recordOf(entry ?? {}, under, registry), registry));
  }
}

function loginOf(entry: Fields, registry: string): ConfiguredLogin {
  const given: Record<Field, string> = { auth: '', username: '', password: '', email: '' };
  for (const [key, value] of Object.entries(entry)) {
    const field = fieldOf(key);
    // If a field is repeated, the last value counts. The value null counts as absent.
    if (field === undefined || value === null) continue;
    if (typeof value !== 'string') throw new Error(`${placeOf(registry)}: ${field} is not a string`);
    given[field] = value;
  }
  const { auth, username, password, email } = given;
  const login = auth === '' ? { username, password } : decodeAuth(auth, registry);
  return email === '' ? login : { ...login, email };
}

function fieldOf(key: string): Field | undefined {
  if (Object.hasOwn(FIELDS, key)) return key as Field;
  return (Object.keys(FIELDS) as Field[]).find((field) => key.length === field.length && FIELDS[field].test(key));
}

function placeOf(registry: string): string {
  return `the entry ${shown(registry)}`;
}

/**
 * The maximum length of a registry in messages. Valid names are shorter, but an invalid name may have a mebibyte and
 * would be shown in the pod's status.
 */
const MAX_SHOWN = 256;

/** Returns a registry as it appears in messages. */
export function shown(registry: string): string {
  return JSON.stringify(registry.length <= MAX_SHOWN ? registry : `${registry.slice(0, MAX_SHOWN)}...`);
}

/** Decodes `auth`, which takes precedence over `username` and `password`. The base64 padding may be missing. */
function decodeAuth(auth: string, registry: string): ConfiguredLogin {
  // Go's decoder ignores line breaks, and accepts complete or no padding.
  const text = auth.replace(/[\r\n]/g, '');
  const isPadded = text.endsWith('=');
  const shape = isPadded
    ? /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/
    : /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?$/;
  if (!shape.test(text)) throw new Error(`${placeOf(registry)}: auth is not base64`);
  const decoded = Buffer.from(text, 'base64').toString();
  const colon = decoded.indexOf(':');
  if (colon < 0) {
    throw new Error(`${placeOf(registry)}: unable to parse auth field, must be formatted as base64(username:password)`);
  }
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Checks that a value is an object. A secret of a mebibyte has 100,000 entries, so the value is not copied, and the
 * path of the value is only formatted for an error.
 */
function recordOf(value: unknown, what: string, entry?: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`${what}${entry === undefined ? '' : `[${shown(entry)}]`} is not an object`);
}
