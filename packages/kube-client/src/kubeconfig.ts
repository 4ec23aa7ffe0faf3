import { dirname, isAbsolute, resolve } from 'node:path';
import type { FileSystem } from '@node-agent/host';
import {
  type ClusterConfig,
  type ConnectionConfig,
  invalidConfig,
  list,
  optional,
  type PemSource,
  parseExec,
  pem,
  record,
  type UserConfig,
} from './connection-config.ts';
import { KubeError } from './errors.ts';
import { proxyUrlProblem } from './proxy.ts';

/**
 * Reads the connection of a kubeconfig's current context, or of the context `context`. Relative paths are resolved
 * against the kubeconfig's directory. Source: `k8s.io/client-go/tools/clientcmd`.
 *
 * @throws KubeError `InvalidConfig`, naming file and field
 */
export async function loadKubeconfig(
  { fs }: { readonly fs: Pick<FileSystem, 'readFile'> },
  path: string,
  context?: string,
): Promise<ConnectionConfig> {
  let text: string;
  try {
    text = Buffer.from(await fs.readFile(path)).toString('utf8');
  } catch (cause) {
    const message = `${path}: cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new KubeError({ code: 'InvalidConfig', message, cause });
  }
  const { LineCounter, parseDocument } = await import('@node-agent/yaml');
  const lineCounter = new LineCounter();
  // `prettyErrors` is off, because pretty errors quote the file, which contains secrets.
  const document = parseDocument(text, { version: '1.1', uniqueKeys: true, lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    const message = `${path}:${line}:${col}: ${QUOTING.has(error.code) ? `not YAML (${error.code})` : error.message}`;
    throw new KubeError({ code: 'InvalidConfig', message });
  }
  let kubeconfig: unknown;
  try {
    kubeconfig = document.toJS({ maxAliasCount: 100 });
  } catch {
    throw new KubeError({ code: 'InvalidConfig', message: `${path}: too many aliases, or an alias without an anchor` });
  }
  return connectionOf(kubeconfig, path, context);
}

/** The codes of parse errors whose messages quote the file's text, which may be a secret (W4). */
const QUOTING: ReadonlySet<string> = new Set([
  'BAD_ALIAS',
  'BAD_COLLECTION_TYPE',
  'BAD_DIRECTIVE',
  'BAD_DQ_ESCAPE',
  'IMPOSSIBLE',
  'TAG_RESOLVE_FAILED',
  'UNEXPECTED_TOKEN',
]);

/** Returns the connection of a parsed kubeconfig. `file` is its path. @throws KubeError `InvalidConfig` */
export function connectionOf(kubeconfig: unknown, file: string, contextName?: string): ConnectionConfig {
  const config = record(kubeconfig);
  if (config.kind !== undefined && config.kind !== 'Config') {
    throw invalidConfig(file, 'kind', `expected Config, got ${JSON.stringify(config.kind)}`);
  }
  const current = contextName ?? config['current-context'];
  if (typeof current !== 'string' || current === '') throw invalidConfig(file, 'current-context', 'is missing');
  const context = named(config, 'contexts', 'context', current, file, 'current-context');
  const at = `contexts[${current}].context`;
  const clusterName = context.cluster;
  if (typeof clusterName !== 'string' || clusterName === '') throw invalidConfig(file, `${at}.cluster`, 'is missing');
  const cluster = named(config, 'clusters', 'cluster', clusterName, file, `${at}.cluster`);
  const userName = context.user;
  const user =
    typeof userName === 'string' && userName !== '' ? named(config, 'users', 'user', userName, file, `${at}.user`) : {};
  const namespace = context.namespace;
  return {
    cluster: clusterOf(cluster, file, `clusters[${clusterName}].cluster`),
    user: userOf(user, file, `users[${String(userName)}].user`),
    ...optional('namespace', typeof namespace === 'string' && namespace !== '' ? namespace : undefined),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function named(config: Fields, plural: string, key: string, name: string, file: string, by: string): Fields {
  const entry = list(config[plural])
    .map(record)
    .find((candidate) => candidate.name === name);
  if (entry === undefined) throw invalidConfig(file, by, `there is no ${JSON.stringify(name)} in ${plural}`);
  return record(entry[key]);
}

function clusterOf(cluster: Fields, file: string, path: string): ClusterConfig {
  const { server } = cluster;
  if (typeof server !== 'string' || server === '') throw invalidConfig(file, `${path}.server`, 'is missing');
  const proxyUrl = text(cluster, 'proxy-url', file, path);
  const problem = proxyUrl === undefined ? undefined : proxyUrlProblem(proxyUrl);
  if (problem !== undefined) throw invalidConfig(file, `${path}.proxy-url`, problem);
  const skipTlsVerify = cluster['insecure-skip-tls-verify'] === true;
  const ca = source(cluster, 'certificate-authority', file, path);
  if (skipTlsVerify && ca !== undefined) {
    throw invalidConfig(
      file,
      `${path}.insecure-skip-tls-verify`,
      'cannot be set together with a certificate authority',
    );
  }
  const execConfig = list(cluster.extensions)
    .map(record)
    .find(({ name }) => name === 'client.authentication.k8s.io/exec');
  return {
    server: serverUrl(server, file, `${path}.server`),
    skipTlsVerify,
    ...optional('ca', ca),
    ...optional('tlsServerName', text(cluster, 'tls-server-name', file, path)),
    ...optional('proxyUrl', proxyUrl),
    ...optional('execConfig', execConfig?.extension),
  };
}

/** A server without a scheme is `http://`, as in client-go. */
function serverUrl(server: string, file: string, path: string): string {
  const full = server.includes('://') ? server : `http://${server}`;
  const url = URL.parse(full);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalidConfig(file, path, `expected an https or http URL, got ${JSON.stringify(server)}`);
  }
  return full;
}

function userOf(user: Fields, file: string, path: string): UserConfig {
  const cert = source(user, 'client-certificate', file, path);
  const key = source(user, 'client-key', file, path);
  if (cert !== undefined && key === undefined) throw invalidConfig(file, `${path}.client-key`, 'is missing');
  const tokenFile = relative(text(user, 'tokenFile', file, path), file);
  const token = text(user, 'token', file, path);
  const username = text(user, 'username', file, path);
  const password = text(user, 'password', file, path);
  if (username !== undefined && (token ?? tokenFile) !== undefined) {
    throw invalidConfig(file, path, 'has both a token and basic authentication');
  }
  const exec = user.exec === undefined ? undefined : parseExec(user.exec, file, `${path}.exec`);
  const provider = record(user['auth-provider']);
  if (exec !== undefined && provider.name !== undefined) {
    throw invalidConfig(file, `${path}.auth-provider`, 'cannot be combined with exec');
  }
  const as = text(user, 'as', file, path);
  const groups = list(user['as-groups']).map(String);
  if (as === undefined && (groups.length > 0 || user['as-uid'] !== undefined)) {
    throw invalidConfig(file, `${path}.as`, 'is missing: groups and UID require an impersonated user');
  }
  const extra = Object.entries(record(user['as-user-extra'])).map(([name, values]) => [name, list(values).map(String)]);
  return {
    ...optional('clientCertificate', cert !== undefined && key !== undefined ? { cert, key } : undefined),
    ...optional(
      'token',
      tokenFile !== undefined ? { file: tokenFile } : token !== undefined ? { data: token } : undefined,
    ),
    ...optional('basic', username !== undefined ? { username, password: password ?? '' } : undefined),
    ...optional('exec', exec === undefined ? undefined : { ...exec, command: commandPath(exec.command, file) }),
    ...optional(
      'authProvider',
      typeof provider.name === 'string' ? { name: provider.name, config: record(provider.config) } : undefined,
    ),
    ...optional(
      'impersonate',
      as === undefined
        ? undefined
        : { user: as, groups, extra: Object.fromEntries(extra), ...optional('uid', text(user, 'as-uid', file, path)) },
    ),
  };
}

/** Returns the content of the field `<name>-data`, which is base64, or otherwise the path in the field `<name>`. */
function source(fields: Fields, name: string, file: string, path: string): PemSource | undefined {
  const data = text(fields, `${name}-data`, file, path);
  return pem(data, relative(text(fields, name, file, path), file));
}

function text(fields: Fields, name: string, file: string, path: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  // The value may be a secret: the message contains only its type.
  throw invalidConfig(
    file,
    `${path}.${name}`,
    `expected a string, got a ${Array.isArray(value) ? 'list' : typeof value}`,
  );
}

/**
 * Resolves a path against the directory of the kubeconfig. The result is absolute, so it stays valid if it is written
 * to another file. A command such as `./login` keeps a slash and so is not looked up in PATH.
 */
function relative(path: string | undefined, file: string): string | undefined {
  return path === undefined || isAbsolute(path) ? path : resolve(dirname(file), path);
}

/**
 * Resolves the command of an exec plugin: a bare name stays as it is, to be looked up in PATH; a name with a slash is
 * relative to the kubeconfig.
 */
function commandPath(command: string, file: string): string {
  return command.includes('/') ? (relative(command, file) ?? command) : command;
}
