import { KubeError } from './errors.ts';

/** PEM text as it is, or the file that has it and may change. */
export type PemSource = { readonly data: string } | { readonly file: string };

/** How to reach an API server and how to know it. */
export interface ClusterConfig {
  /** `https://host:port/prefix`, or `http://` without any protection. */
  readonly server: string;
  /** The system's own authorities where absent. */
  readonly ca?: PemSource;
  /** The name that the server's certificate must have; the URL's host where absent. */
  readonly tlsServerName?: string;
  readonly skipTlsVerify?: boolean;
  /** `http://`, `https://` or `socks5://`; the environment's proxy where absent. */
  readonly proxyUrl?: string;
  /** What exec plugins that ask for it are told of the cluster (the extension `client.authentication.k8s.io/exec`). */
  readonly execConfig?: unknown;
}

/** A program that prints an `ExecCredential` (KEP-541). */
export interface ExecConfig {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** What to say where the program is not there. */
  readonly installHint?: string;
  readonly provideClusterInfo: boolean;
}

/** Who one is to an API server. Any of them may be absent; a token goes before a plugin, a plugin before a provider. */
export interface UserConfig {
  readonly clientCertificate?: { readonly cert: PemSource; readonly key: PemSource };
  /** The token itself, or the file that has it and may change. */
  readonly token?: PemSource;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly exec?: ExecConfig;
  /** A provider of @kubernetes/client-node (`oidc`, `gcp`, `azure`), which must be installed: 90 MB of memory once it is used. */
  readonly authProvider?: { readonly name: string; readonly config: Readonly<Record<string, unknown>> };
  readonly impersonate?: {
    readonly user: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

/** A cluster, a user of it, and the namespace to use where none is said. */
export interface ConnectionConfig {
  readonly cluster: ClusterConfig;
  readonly user: UserConfig;
  readonly namespace?: string;
}

/** A cluster as a `KubeConfig` of @kubernetes/client-node has it, as far as it is read here; base64 in `...Data`. */
export interface ClientNodeCluster {
  readonly server: string;
  readonly caData?: string;
  readonly caFile?: string;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  readonly skipTLSVerify: boolean;
}

/** A user as a `KubeConfig` of @kubernetes/client-node has it, as far as it is read here; base64 in `...Data`. */
export interface ClientNodeUser {
  readonly name: string;
  readonly certData?: string;
  readonly certFile?: string;
  readonly keyData?: string;
  readonly keyFile?: string;
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly impersonateUser?: string;
  readonly exec?: unknown;
  readonly authProvider?: unknown;
}

/** What is asked of a `KubeConfig` of @kubernetes/client-node. */
export interface ClientNodeKubeConfig {
  getCurrentCluster(): ClientNodeCluster | null;
  getCurrentUser(): ClientNodeUser | null;
}

/**
 * The connection that a `KubeConfig` of @kubernetes/client-node stands for, for programs that have one.
 * @throws KubeError `InvalidConfig` where it has no current cluster or its plugin is not usable
 */
export function connectionOfKubeConfig(kubeConfig: ClientNodeKubeConfig): ConnectionConfig {
  const cluster = kubeConfig.getCurrentCluster();
  if (cluster === null) throw invalidConfig('kubeconfig', 'current-context', 'names no cluster');
  const user = kubeConfig.getCurrentUser();
  const { authProvider } = user ?? {};
  return {
    cluster: {
      server: cluster.server,
      ...optional('ca', pem(cluster.caData, cluster.caFile)),
      ...optional('tlsServerName', cluster.tlsServerName),
      ...optional('proxyUrl', cluster.proxyUrl),
      skipTlsVerify: cluster.skipTLSVerify,
    },
    user: user === null ? {} : userOfClientNode(user, authProvider),
  };
}

function userOfClientNode(user: ClientNodeUser, authProvider: unknown): UserConfig {
  const cert = pem(user.certData, user.certFile);
  const key = pem(user.keyData, user.keyFile);
  const provider = record(authProvider);
  const config = record(provider.config);
  const tokenFile = provider.name === 'tokenFile' ? config.tokenFile : undefined;
  const exec = user.exec ?? config.exec;
  return {
    ...optional('clientCertificate', cert !== undefined && key !== undefined ? { cert, key } : undefined),
    ...optional(
      'token',
      typeof tokenFile === 'string' ? { file: tokenFile } : user.token ? { data: user.token } : undefined,
    ),
    ...optional('basic', user.username ? { username: user.username, password: user.password ?? '' } : undefined),
    ...optional('exec', exec ? parseExec(exec, 'kubeconfig', `users[${user.name}].user.exec`) : undefined),
    ...optional(
      'authProvider',
      typeof provider.name === 'string' && tokenFile === undefined && !exec
        ? { name: provider.name, config }
        : undefined,
    ),
    ...optional('impersonate', user.impersonateUser ? { user: user.impersonateUser } : undefined),
  };
}

/** An `exec` section. @throws KubeError `InvalidConfig` */
export function parseExec(value: unknown, file: string, path: string): ExecConfig {
  const exec = record(value);
  const { apiVersion, command, interactiveMode, installHint } = exec;
  if (apiVersion !== 'client.authentication.k8s.io/v1' && apiVersion !== 'client.authentication.k8s.io/v1beta1') {
    const want = 'expected client.authentication.k8s.io/v1 or v1beta1';
    throw invalidConfig(file, `${path}.apiVersion`, `${want}, got ${JSON.stringify(apiVersion)}`);
  }
  if (typeof command !== 'string' || command === '') throw invalidConfig(file, `${path}.command`, 'is missing');
  if (interactiveMode === 'Always') {
    throw invalidConfig(file, `${path}.interactiveMode`, 'Always cannot be had: there is no terminal');
  }
  if (apiVersion === 'client.authentication.k8s.io/v1' && interactiveMode === undefined) {
    throw invalidConfig(file, `${path}.interactiveMode`, 'is missing: v1 wants Never or IfAvailable');
  }
  if (interactiveMode !== undefined && interactiveMode !== 'Never' && interactiveMode !== 'IfAvailable') {
    throw invalidConfig(
      file,
      `${path}.interactiveMode`,
      `expected Never or IfAvailable, got ${JSON.stringify(interactiveMode)}`,
    );
  }
  return {
    apiVersion,
    command,
    args: list(exec.args).map(String),
    env: list(exec.env).map((entry, i) => {
      const { name, value: text } = record(entry);
      if (typeof name !== 'string' || name === '') throw invalidConfig(file, `${path}.env[${i}].name`, 'is missing');
      return { name, value: String(text ?? '') };
    }),
    provideClusterInfo: exec.provideClusterInfo === true,
    ...optional('installHint', typeof installHint === 'string' ? installHint : undefined),
  };
}

/** Base64 data goes before a file, as upstream has it. */
export function pem(data: unknown, file: unknown): PemSource | undefined {
  if (typeof data === 'string' && data !== '') return { data: Buffer.from(data, 'base64').toString('utf8') };
  return typeof file === 'string' && file !== '' ? { file } : undefined;
}

/** A property that is there only where it has a value. */
export function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

/** An object, or an empty one for anything else. */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** A list, or an empty one for anything else. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Names the file and the field. */
export function invalidConfig(file: string, path: string, problem: string, cause?: unknown): KubeError {
  return new KubeError({ code: 'InvalidConfig', message: `${file}: ${path}: ${problem}`, cause });
}
