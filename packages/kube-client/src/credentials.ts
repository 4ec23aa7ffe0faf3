import { createSecureContext } from 'node:tls';
import { type Clock, checkComponents, checkOptions, KeyedMutex, withTimeout } from '@node-agent/async';
import { type Logger, withDefaults } from '@node-agent/telemetry';
import { AuthProvider } from './auth-provider.ts';
import type { ConnectionConfig, PemSource, UserConfig } from './connection-config.ts';
import { KubeError } from './errors.ts';
import { ExecCredentials, type ExecRunner } from './exec-credentials.ts';
import type { Environment } from './proxy.ts';
import { type CredentialFiles, ReloadingFile } from './reloading-file.ts';

/** The CA, client certificate and key of TLS connections, in PEM. */
export interface TlsMaterial {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** The credentials for requests at one point in time. */
export interface Credentials {
  /** The TLS part of the credentials. The value stays the same object until the CA, certificate or key changes. */
  readonly tls: TlsMaterial;
  /** Headers to add to each request, with names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

/** Supplies a transport with credentials: before each request, and periodically during long streams. */
export interface CredentialSource {
  /** Returns the credentials to use now. @throws KubeError `CredentialsUnavailable` */
  current(signal?: AbortSignal): Promise<Credentials>;
  /**
   * Reports that the server rejected these credentials (401). The next request reads a token file or runs an exec
   * plugin again.
   */
  reject(credentials: Credentials): void;
}

/** The components of {@link ConfiguredCredentials}. */
export interface CredentialComponents {
  readonly fs: CredentialFiles;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Runs exec plugins. */
  readonly exec: ExecRunner;
  /** The environment of exec plugins. */
  readonly environment: Environment;
}

/**
 * How often credential files are checked for changes, in milliseconds. The Go kubelet checks its certificate at this
 * interval too.
 */
const FILE_PERIOD_MS = 10_000;

/**
 * The timeout for reading files, running a plugin or calling a provider, in milliseconds. Requests wait until the
 * credentials are read.
 */
const READ_TIMEOUT_MS = 60_000;

/**
 * Credentials of a kubeconfig: inline data, files that are read again when they change, an exec plugin, or an auth
 * provider of the client library. If files are temporarily unreadable, or only one file of a certificate pair was
 * replaced, the last valid credentials stay in use.
 */
export class ConfiguredCredentials implements CredentialSource {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ca: () => Promise<string | undefined>;
  readonly #pair: { readonly cert: () => Promise<string>; readonly key: () => Promise<string> } | undefined;
  readonly #token: () => Promise<string | undefined>;
  readonly #tokenFile: ReloadingFile | undefined;
  readonly #files: readonly ReloadingFile[];
  readonly #exec: ExecCredentials | undefined;
  readonly #provider: AuthProvider | undefined;
  readonly #fixedHeaders: Readonly<Record<string, string | readonly string[]>>;
  readonly #oneAtATime = new KeyedMutex<'current'>();
  /** The host of a server whose URL is not https, until the warning that it gets no credentials has been logged. */
  #unprotectedServer: string | undefined;
  #last: Credentials | undefined;
  #complained = false;

  constructor(given: CredentialComponents, connection: ConnectionConfig) {
    checkOptions('ConfiguredCredentials', connection, { cluster: 'object', user: 'object', namespace: 'string?' });
    checkComponents('ConfiguredCredentials', given, { fs: ['readFile', 'stat'], exec: 'function', environment: [] });
    const { cluster } = connection;
    const user = userFor(connection);
    if (user !== connection.user) this.#unprotectedServer = URL.parse(cluster.server)?.host ?? '';
    const components = withDefaults(given);
    const { fs, clock, logger } = components;
    // Each path gets one reader, so that a certificate and a key in the same file always have the same version.
    const files = new Map<string, ReloadingFile>();
    const read = (source: PemSource): ReloadingFile | string => {
      if ('data' in source) return source.data;
      const file = files.get(source.file) ?? new ReloadingFile(fs, clock, source.file, FILE_PERIOD_MS);
      files.set(source.file, file);
      return file;
    };
    this.#clock = clock;
    this.#logger = logger;
    this.#ca = reader(cluster.ca === undefined ? undefined : read(cluster.ca));
    const pair = user.clientCertificate;
    this.#pair = pair === undefined ? undefined : { cert: reader(read(pair.cert)), key: reader(read(pair.key)) };
    const token = user.token === undefined ? undefined : read(user.token);
    this.#tokenFile = token instanceof ReloadingFile ? token : undefined;
    this.#token = reader(token);
    const hasOwn = user.token !== undefined || user.basic !== undefined || pair !== undefined;
    this.#exec =
      user.exec !== undefined && !hasOwn ? new ExecCredentials(components, user.exec, cluster, this.#ca) : undefined;
    this.#files = [...files.values()];
    this.#provider = user.authProvider === undefined ? undefined : new AuthProvider(user.authProvider);
    this.#fixedHeaders = fixedHeaders(user);
  }

  async current(signal?: AbortSignal): Promise<Credentials> {
    signal?.throwIfAborted();
    // The freshness check runs for every request. Without this check, reading credentials costs a fifth of a request's
    // CPU time even if no file has changed.
    if (this.#last !== undefined && this.#isFresh()) return this.#last;
    return await this.#oneAtATime.run('current', async () => await this.#current(signal), signal);
  }

  /** Reports whether the credentials of the last read may be used without checking any file, plugin or provider. */
  #isFresh(): boolean {
    if (this.#exec !== undefined || this.#provider !== undefined) return false;
    const nowMs = this.#clock.monotonic();
    for (const file of this.#files) if (!file.isFresh(nowMs)) return false;
    return true;
  }

  reject(credentials: Credentials): void {
    if (credentials !== this.#last) return;
    this.#tokenFile?.expire();
    this.#exec?.expire();
  }

  async #current(signal: AbortSignal | undefined): Promise<Credentials> {
    if (this.#unprotectedServer !== undefined) {
      this.#logger.warn({ server: this.#unprotectedServer }, 'Credentials are not sent: the server URL is not https');
      this.#unprotectedServer = undefined;
    }
    let next: Credentials;
    try {
      next = await withTimeout(this.#clock, READ_TIMEOUT_MS, (linked) => this.#read(linked), signal);
    } catch (cause) {
      const error = signal?.aborted ? cause : unlessLate(cause);
      if (this.#last === undefined || signal?.aborted) throw error;
      if (!this.#complained)
        this.#logger.warn({ err: error }, 'Failed to read credentials; the previous ones stay in use');
      this.#complained = true;
      return this.#last;
    }
    this.#complained = false;
    const last = this.#last;
    if (last !== undefined && sameHeaders(last.headers, next.headers) && last.tls === next.tls) return last;
    this.#last = next;
    return next;
  }

  async #read(signal: AbortSignal | undefined): Promise<Credentials> {
    const ca = await this.#ca();
    const plugin = await this.#exec?.current(signal);
    const cert = plugin?.cert ?? (await this.#pair?.cert());
    const key = plugin?.key ?? (await this.#pair?.key());
    const token = (await this.#token()) ?? plugin?.token;
    const authorization = token === undefined ? await this.#provider?.authorization() : `Bearer ${token}`;
    const tls = this.#tls({ ca, cert, key });
    return {
      tls,
      headers: authorization === undefined ? this.#fixedHeaders : { ...this.#fixedHeaders, authorization },
    };
  }

  #tls(next: TlsMaterial): TlsMaterial {
    const last = this.#last?.tls;
    if (last !== undefined && last.ca === next.ca && last.cert === next.cert && last.key === next.key) return last;
    try {
      createSecureContext({ ca: next.ca, cert: next.cert, key: next.key });
    } catch (cause) {
      const message = `the certificate, key or CA is invalid: ${cause instanceof Error ? cause.message : String(cause)}`;
      throw new KubeError({ code: 'CredentialsUnavailable', message, cause });
    }
    return next;
  }
}

function reader(source: ReloadingFile): () => Promise<string>;
function reader(source: ReloadingFile | string): () => Promise<string>;
function reader(source: ReloadingFile | string | undefined): () => Promise<string | undefined>;
function reader(source: ReloadingFile | string | undefined): () => Promise<string | undefined> {
  return source instanceof ReloadingFile ? () => source.read() : () => Promise.resolve(source);
}

/**
 * Returns the user whose credentials a server may get. A server without TLS gets no credentials, as in client-go, which
 * reads credentials only for a TLS transport (`tools/clientcmd/client_config.go: ClientConfig`): tokens and passwords
 * would be readable on the network. Impersonation headers are kept, as in client-go, because they name a user but hold
 * no secret.
 */
function userFor({ cluster, user }: ConnectionConfig): UserConfig {
  if (URL.parse(cluster.server)?.protocol === 'https:') return user;
  const { impersonate, ...credentials } = user;
  if (Object.keys(credentials).length === 0) return user;
  return impersonate === undefined ? {} : { impersonate };
}

function fixedHeaders({ basic, impersonate }: UserConfig): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {};
  if (basic !== undefined) {
    headers.authorization = `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`;
  }
  if (impersonate === undefined) return headers;
  headers['impersonate-user'] = impersonate.user;
  if (impersonate.uid !== undefined) headers['impersonate-uid'] = impersonate.uid;
  if (impersonate.groups !== undefined && impersonate.groups.length > 0)
    headers['impersonate-group'] = impersonate.groups;
  for (const [name, values] of Object.entries(impersonate.extra ?? {})) {
    headers[`impersonate-extra-${encodeURIComponent(name.toLowerCase())}`] = values;
  }
  return headers;
}

function unlessLate(error: unknown): unknown {
  if (KubeError.from(error).code !== 'DeadlineExceeded') return error;
  const message = `read credentials: no result within ${READ_TIMEOUT_MS} ms`;
  return new KubeError({ code: 'CredentialsUnavailable', message, cause: error });
}

function sameHeaders(a: Credentials['headers'], b: Credentials['headers']): boolean {
  return a === b || a.authorization === b.authorization;
}
