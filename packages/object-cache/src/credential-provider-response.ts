import { goDurationMs } from './credential-provider-config.ts';
import type { DockerConfig, RegistryLogin } from './docker-config.ts';
import { type Fields, fieldsOf, textOf } from './fields.ts';
import { parseYamlText } from './yaml-text.ts';

/** The scope of a plugin's credentials: one image, all images of a registry, or all images. */
export type CacheKeyType = 'Image' | 'Registry' | 'Global';

/** The response of a plugin. */
export interface ProviderResponse {
  readonly logins: DockerConfig;
  readonly cacheKeyType: CacheKeyType;
  /** Time for which the response may be cached, in milliseconds; `undefined` if the plugin does not say. */
  readonly cacheDurationMs: number | undefined;
}

/** Returns the request that is written to the plugin's stdin. */
export function providerRequest(
  apiVersion: string,
  image: string,
  account?: { readonly token: string; readonly annotations: Readonly<Record<string, string>> },
): string {
  const request = { kind: 'CredentialProviderRequest', apiVersion, image };
  if (account === undefined) return `${JSON.stringify(request)}\n`;
  const { token: serviceAccountToken, annotations } = account;
  const serviceAccountAnnotations = Object.keys(annotations).length > 0 ? annotations : undefined;
  return `${JSON.stringify({ ...request, serviceAccountToken, serviceAccountAnnotations })}\n`;
}

const FIELDS = ['kind', 'apiVersion', 'cacheKeyType', 'cacheDuration', 'auth'];
/**
 * The maximum length of a YAML response. The YAML parser would block the event loop for seconds with a longer text.
 * JSON may be longer.
 */
const MAX_YAML_LENGTH = 65_536;
const LOGIN_FIELDS = ['username', 'password'];

/**
 * Parses a plugin's output strictly, as upstream's decoder does.
 * @throws Error that describes the problem without quoting the text, which contains credentials
 */
export function parseProviderResponse(text: string, apiVersion: string): ProviderResponse {
  const response = fieldsOf(decoded(text), 'response');
  const actual = textOf(response, 'apiVersion', 'response');
  if (actual !== apiVersion) {
    const what = 'apiVersion from credential plugin response did not match expected';
    throw new Error(`${what} apiVersion:${apiVersion}, actual apiVersion:${actual}`);
  }
  const kind = textOf(response, 'kind', 'response');
  if (kind !== 'CredentialProviderResponse') throw new Error(`unexpected Kind: ${JSON.stringify(kind)}`);
  requireKnown(response, FIELDS);
  const { cacheDuration } = response;
  const cacheDurationMs = goDurationMs(cacheDuration);
  if (cacheDuration !== undefined && cacheDuration !== null && cacheDurationMs === undefined) {
    throw new Error('response.cacheDuration: must be a duration such as "10m"');
  }
  return { logins: loginsOf(response.auth), cacheKeyType: cacheKeyTypeOf(response.cacheKeyType), cacheDurationMs };
}

function loginsOf(auth: unknown): DockerConfig {
  const logins = new Map<string, RegistryLogin>();
  for (const [registry, value] of Object.entries(fieldsOf(auth ?? {}, 'response.auth'))) {
    const where = `response.auth[${JSON.stringify(registry)}]`;
    const login = fieldsOf(value, where);
    requireKnown(login, LOGIN_FIELDS);
    logins.set(registry, { username: textOf(login, 'username', where), password: textOf(login, 'password', where) });
  }
  return logins;
}

function cacheKeyTypeOf(value: unknown): CacheKeyType {
  if (value === 'Image' || value === 'Registry' || value === 'Global') return value;
  throw new Error('credential provider plugin did not return a valid cacheKeyType');
}

/**
 * Creates the error for an unreadable response, without its text. A parser's message may quote the text, and even a
 * field name may be a misplaced secret.
 */
function undecodable(): Error {
  return new Error('error decoding credential provider plugin response from stdout');
}

function requireKnown(fields: Fields, known: readonly string[]): void {
  if (Object.keys(fields).some((field) => !known.includes(field))) throw undecodable();
}

/** Parses JSON or YAML, both of which upstream's decoder accepts (`plugin.go: ExecPlugin`). */
function decoded(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return yamlOf(text);
  }
}

function yamlOf(text: string): unknown {
  if (text.length > MAX_YAML_LENGTH) throw undecodable();
  let value: unknown;
  try {
    value = parseYamlText(text);
  } catch {
    throw undecodable();
  }
  // Almost any text is valid YAML. If a text is parsed as a scalar, it is a message of the plugin.
  if (typeof value !== 'object' || value === null) throw undecodable();
  return value;
}
