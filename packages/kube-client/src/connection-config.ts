import { KubeError } from './errors.ts';

/** A PEM text, or the path of a file that contains one and may change. */
export type PemSource = { readonly data: string } | { readonly file: string };

/** The address of an API server and the options for verifying its certificate. */
export interface ClusterConfig {
  /** The server's URL: `https://host:port/prefix`, or `http://` without encryption. */
  readonly server: string;
  /**
   * The certificate authorities that the server's certificate is verified with. Default: the certificate authorities of
   * the system.
   */
  readonly ca?: PemSource;
  /** The name that the server's certificate must have. Default: the host of the URL. */
  readonly tlsServerName?: string;
  readonly skipTlsVerify?: boolean;
  /** The URL of a proxy: `http://`, `https://` or `socks5://`. Default: the proxy of the environment. */
  readonly proxyUrl?: string;
  /**
   * Cluster data for exec plugins that set `provideClusterInfo` (the extension `client.authentication.k8s.io/exec`).
   */
  readonly execConfig?: unknown;
}

/** A program that prints an `ExecCredential` (KEP-541). */
export interface ExecConfig {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Text that is appended to the error message if the program is not installed. */
  readonly installHint?: string;
  readonly provideClusterInfo: boolean;
}

/**
 * The identity that a client presents to an API server. All fields are optional. A token takes precedence over an exec
 * plugin, an exec plugin over an auth provider.
 */
export interface UserConfig {
  readonly clientCertificate?: { readonly cert: PemSource; readonly key: PemSource };
  /** The token, or the path of a file that contains it and may change. */
  readonly token?: PemSource;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly exec?: ExecConfig;
  /**
   * A provider of @kubernetes/client-node (`oidc`, `gcp`, `azure`), which must be installed. Loading the package costs
   * 90 MB of memory.
   */
  readonly authProvider?: { readonly name: string; readonly config: Readonly<Record<string, unknown>> };
  readonly impersonate?: {
    readonly user: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

/** A cluster, a user of the cluster, and the default namespace. */
export interface ConnectionConfig {
  readonly cluster: ClusterConfig;
  readonly user: UserConfig;
  readonly namespace?: string;
}

/**
 * The fields of a cluster that are read from a `KubeConfig` of @kubernetes/client-node. Fields named `...Data` are
 * base64.
 */
export interface ClientNodeCluster {
  readonly server: string;
  readonly caData?: string;
  readonly caFile?: string;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  readonly skipTLSVerify: boolean;
}

/**
 * The fields of a user that are read from a `KubeConfig` of @kubernetes/client-node. Fields named `...Data` are base64.
 */
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

/** The methods that are called on a `KubeConfig` of @kubernetes/client-node. */
export interface ClientNodeKubeConfig {
  getCurrentCluster(): ClientNodeCluster | null;
  getCurrentUser(): ClientNodeUser | null;
}

/**
 * Converts a `KubeConfig` of @kubernetes/client-node, for programs that already have one.
 * @throws KubeError `InvalidConfig` if `kubeConfig` has no current cluster or its exec plugin is invalid
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

/** Parses the `exec` section of a kubeconfig user. @throws KubeError `InvalidConfig` */
export function parseExec(value: unknown, file: string, path: string): ExecConfig {
  const exec = record(value);
  const { apiVersion, command, interactiveMode, installHint } = exec;
  if (apiVersion !== 'client.authentication.k8s.io/v1' && apiVersion !== 'client.authentication.k8s.io/v1beta1') {
    const want = 'expected client.authentication.k8s.io/v1 or v1beta1';
    throw invalidConfig(file, `${path}.apiVersion`, `${want}, got ${JSON.stringify(apiVersion)}`);
  }
  if (typeof command !== 'string' || command === '') throw invalidConfig(file, `${path}.command`, 'is missing');
  if (interactiveMode === 'Always') {
    throw invalidConfig(file, `${path}.interactiveMode`, 'Always is not supported: there is no terminal');
  }
  if (apiVersion === 'client.authentication.k8s.io/v1' && interactiveMode === undefined) {
    throw invalidConfig(file, `${path}.interactiveMode`, 'is missing: v1 requires Never or IfAvailable');
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

/** Returns inline base64 data if present, otherwise the file, as in upstream. */
export function pem(data: unknown, file: unknown): PemSource | undefined {
  if (typeof data === 'string' && data !== '') return { data: Buffer.from(data, 'base64').toString('utf8') };
  return typeof file === 'string' && file !== '' ? { file } : undefined;
}

/** Returns an object with the property if `value` is defined, otherwise an empty object. */
export function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

/** Returns a copy of an object, or an empty object for any other value. */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** Returns an array unchanged, or an empty array for any other value. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Creates an `InvalidConfig` error that names the file and the field. */
export function invalidConfig(file: string, path: string, problem: string, cause?: unknown): KubeError {
  return new KubeError({ code: 'InvalidConfig', message: `${file}: ${path}: ${problem}`, cause });
}
