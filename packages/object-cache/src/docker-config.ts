/** What to show a registry. It is a secret: not to be logged. */
export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
  /** Whose it is; the node's, for all of its pods, where absent (the port `PullCredential` of `images`). */
  readonly source?: LoginSource;
}

/** The object of the cluster that a login was had by. */
export type LoginSource =
  | { readonly secret: ObjectCoordinates & { readonly credentialHash: string } }
  | { readonly serviceAccount: ObjectCoordinates };

/** Where an object of the cluster is, and which of those that had its name it is. */
export interface ObjectCoordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A login as a configuration has it. */
export interface ConfiguredLogin {
  readonly username: string;
  readonly password: string;
  /** Not shown to registries, but a part of what tells logins apart; absent where it is empty. */
  readonly email?: string;
}

/** Logins by registry, as a docker configuration has them. */
export type DockerConfig = ReadonlyMap<string, ConfiguredLogin>;

/**
 * Reads `~/.docker/config.json` (the secret type `kubernetes.io/dockerconfigjson`), of which only `auths` counts.
 * @throws Error that says what is wrong, and nothing of the text: it holds secrets
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
 * Reads the older `~/.dockercfg` (the secret type `kubernetes.io/dockercfg`).
 * @throws Error that says what is wrong, and nothing of the text: it holds secrets
 */
export function parseDockercfg(text: string): DockerConfig {
  const logins = new Map<string, ConfiguredLogin>();
  addLogins(logins, recordOf(parseJson(text) ?? {}, 'the document'), '');
  return logins;
}

/** Go's `encoding/json`, by which upstream reads them, knows fields whatever their case. Registries are no fields. */
const AUTHS = /^auths$/iu;
const FIELDS = { auth: /^auth$/iu, username: /^username$/iu, password: /^password$/iu, email: /^email$/iu };

type Field = keyof typeof FIELDS;

/** A parser's message may quote what it read. */
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
    // Of several of a name the last counts; null is as good as absent.
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

/** No name of a registry is longer; one that a pod's status is to show may be of a mebibyte. */
const MAX_SHOWN = 256;

/** A registry as messages have it. */
export function shown(registry: string): string {
  return JSON.stringify(registry.length <= MAX_SHOWN ? registry : `${registry.slice(0, MAX_SHOWN)}...`);
}

/** `auth` goes before `username` and `password`; its padding may be missing. */
function decodeAuth(auth: string, registry: string): ConfiguredLogin {
  // Go's decoder skips line ends, and takes the padding either whole or not at all.
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

/** A text of a mebibyte has 100,000 of them: nothing is copied, and no place named that is not told. */
function recordOf(value: unknown, what: string, entry?: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`${what}${entry === undefined ? '' : `[${shown(entry)}]`} is not an object`);
}
