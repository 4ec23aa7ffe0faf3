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
  let logins: DockerConfig = new Map();
  for (const auths of valuesOf(recordOf(parseJson(text) ?? {}, 'the document'), NAMES.auths)) {
    logins = auths === null ? new Map() : new Map([...logins, ...loginsOf(recordOf(auths, 'auths'), 'auths')]);
  }
  return logins;
}

/**
 * Reads the older `~/.dockercfg` (the secret type `kubernetes.io/dockercfg`).
 * @throws Error that says what is wrong, and nothing of the text: it holds secrets
 */
export function parseDockercfg(text: string): DockerConfig {
  return loginsOf(recordOf(parseJson(text) ?? {}, 'the document'), '');
}

/** Go's `encoding/json`, by which upstream reads them, knows fields whatever their case. Registries are no fields. */
const NAMES = {
  auths: /^auths$/iu,
  auth: /^auth$/iu,
  username: /^username$/iu,
  password: /^password$/iu,
  email: /^email$/iu,
};

/** What a field is given, by each of its names, in the order of the text. */
function valuesOf(fields: Readonly<Record<string, unknown>>, name: RegExp): readonly unknown[] {
  return Object.entries(fields).flatMap(([key, value]) => (name.test(key) ? [value] : []));
}

/** A parser's message may quote what it read. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}

function loginsOf(entries: Readonly<Record<string, unknown>>, under: string): DockerConfig {
  const logins = new Map<string, ConfiguredLogin>();
  for (const [registry, entry] of Object.entries(entries)) {
    logins.set(registry, loginOf(recordOf(entry ?? {}, `${under}[${JSON.stringify(registry)}]`), registry));
  }
  return logins;
}

function loginOf(entry: Readonly<Record<string, unknown>>, registry: string): ConfiguredLogin {
  const where = `the entry ${JSON.stringify(registry)}`;
  const auth = textOf(entry, 'auth', where);
  const username = textOf(entry, 'username', where);
  const password = textOf(entry, 'password', where);
  const email = textOf(entry, 'email', where);
  const login = auth === '' ? { username, password } : decodeAuth(auth, where);
  return { ...login, ...(email !== '' && { email }) };
}

/** `auth` goes before `username` and `password`; its padding may be missing. */
function decodeAuth(auth: string, where: string): ConfiguredLogin {
  // Go's decoder skips line ends, and takes the padding either whole or not at all.
  const text = auth.replace(/[\r\n]/g, '');
  const isPadded = text.endsWith('=');
  const shape = isPadded
    ? /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/
    : /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?$/;
  if (!shape.test(text)) throw new Error(`${where}: auth is not base64`);
  const decoded = Buffer.from(text, 'base64').toString();
  const colon = decoded.indexOf(':');
  if (colon < 0) {
    throw new Error(`${where}: unable to parse auth field, must be formatted as base64(username:password)`);
  }
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/** The last counts; null is as good as absent. */
function textOf(
  entry: Readonly<Record<string, unknown>>,
  field: Exclude<keyof typeof NAMES, 'auths'>,
  where: string,
): string {
  let text = '';
  for (const value of valuesOf(entry, NAMES[field])) {
    if (value === null) continue;
    if (typeof value !== 'string') throw new Error(`${where}: ${field} is not a string`);
    text = value;
  }
  return text;
}

function recordOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`${what} is not an object`);
}
