import type { Clock } from '@node-agent/async';
import { errorCode } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { type ClusterConfig, type ExecConfig, record } from './connection-config.ts';
import { KubeError } from './errors.ts';
import type { Environment } from './proxy.ts';

/** The result of a program that has exited. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program. @throws if the program cannot be started; with code `ENOENT` if it does not exist */
export type ExecRunner = (
  command: string,
  args: readonly string[],
  environment: Environment,
  signal?: AbortSignal,
) => Promise<ExecResult>;

/** The credentials that a plugin returned. */
export interface PluginCredentials {
  readonly token: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /**
   * The time at which the credentials expire, in milliseconds since the epoch. If `undefined`, the credentials are
   * valid until this process exits.
   */
  readonly expiresAtMs: number | undefined;
}

/** The credentials of an exec plugin, cached until they expire or are rejected (`plugin/pkg/client/auth/exec`). */
export class ExecCredentials {
  readonly #components: {
    readonly clock: Pick<Clock, 'now'>;
    readonly exec: ExecRunner;
    readonly environment: Environment;
  };
  readonly #config: ExecConfig;
  readonly #cluster: ClusterConfig;
  readonly #ca: () => Promise<string | undefined>;
  #kept: PluginCredentials | undefined;

  constructor(
    components: { readonly clock: Pick<Clock, 'now'>; readonly exec: ExecRunner; readonly environment: Environment },
    config: ExecConfig,
    cluster: ClusterConfig,
    ca: () => Promise<string | undefined>,
  ) {
    this.#components = components;
    this.#config = config;
    this.#cluster = cluster;
    this.#ca = ca;
  }

  /** Makes the next request run the plugin again. */
  expire(): void {
    this.#kept = undefined;
  }

  /** Returns the credentials. @throws KubeError `CredentialsUnavailable`, with the plugin's stderr */
  async current(signal?: AbortSignal): Promise<PluginCredentials> {
    const { clock, exec, environment } = this.#components;
    const kept = this.#kept;
    if (kept !== undefined && (kept.expiresAtMs === undefined || clock.now() < kept.expiresAtMs)) return kept;
    const { command, args, env, installHint } = this.#config;
    const info = JSON.stringify(await this.#request());
    const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    let result: ExecResult;
    try {
      result = await exec(command, args, { ...environment, ...own, KUBERNETES_EXEC_INFO: info }, signal);
    } catch (cause) {
      if (signal?.aborted) throw cause;
      const missing = errorCode(cause) === 'ENOENT';
      const what = missing ? `executable ${command} not found` : errorText(cause);
      throw unavailable(`exec: ${what}${missing && installHint !== undefined ? `\n\n${installHint}` : ''}`, cause);
    }
    if (result.exitCode !== 0) {
      const said = result.stderr.trim().slice(-2048);
      throw unavailable(
        `exec: executable ${command} failed with exit code ${result.exitCode}${said === '' ? '' : `: ${said}`}`,
      );
    }
    this.#kept = parseExecCredential(await credentialOf(result.stdout), this.#config.apiVersion);
    return this.#kept;
  }

  /** Returns the input of the plugin, passed in KUBERNETES_EXEC_INFO. */
  async #request(): Promise<object> {
    const { apiVersion, provideClusterInfo } = this.#config;
    const { server, tlsServerName, skipTlsVerify, proxyUrl, execConfig } = this.#cluster;
    const spec: Record<string, unknown> = { interactive: false };
    if (provideClusterInfo) {
      const ca = await this.#ca();
      spec.cluster = {
        server,
        'tls-server-name': tlsServerName,
        'insecure-skip-tls-verify': skipTlsVerify || undefined,
        'certificate-authority-data': ca === undefined ? undefined : Buffer.from(`${ca.trim()}\n`).toString('base64'),
        'proxy-url': proxyUrl,
        config: execConfig ?? null,
      };
    }
    return { kind: 'ExecCredential', apiVersion, spec };
  }
}

/**
 * The longest YAML text that is parsed, in characters. A longer YAML text is rejected, because parsing it would block
 * the process for seconds. JSON may be longer.
 */
const MAX_YAML_LENGTH = 65_536;

/**
 * Parses the output of a plugin: JSON or YAML, both of which client-go's decoder accepts. @throws KubeError
 * `CredentialsUnavailable`
 */
async function credentialOf(stdout: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return record(JSON.parse(stdout));
  } catch {
    if (stdout.length > MAX_YAML_LENGTH) {
      throw unavailable(`exec: the plugin printed neither JSON nor at most ${MAX_YAML_LENGTH} characters of YAML`);
    }
    const { parse } = await import('@node-agent/yaml');
    let value: unknown;
    try {
      value = parse(stdout, { version: '1.1', prettyErrors: false, logLevel: 'error', maxAliasCount: 100 });
    } catch {
      value = undefined;
    }
    if (typeof value === 'object' && value !== null) return record(value);
    // The output may contain a secret, and the parser's message quotes it. So the error quotes neither the output nor
    // the parser's message (W4).
    throw unavailable('exec: the plugin did not print JSON or YAML');
  }
}

/** Checks the parsed output of a plugin and returns its credentials. @throws KubeError `CredentialsUnavailable` */
function parseExecCredential(parsed: Readonly<Record<string, unknown>>, apiVersion: string): PluginCredentials {
  if (parsed.kind !== 'ExecCredential' || parsed.apiVersion !== apiVersion) {
    const got = `${String(parsed.apiVersion)}, ${String(parsed.kind)}`;
    throw unavailable(`exec: plugin is configured to use API version ${apiVersion}, it returned ${got}`);
  }
  const status = record(parsed.status);
  if (parsed.status === undefined) throw unavailable("exec: plugin didn't return a status field");
  const text = (key: string): string | undefined => {
    const value = status[key];
    // YAML parses timestamps into dates.
    if (value instanceof Date) return value.toISOString();
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [token, cert, key] = [text('token'), text('clientCertificateData'), text('clientKeyData')];
  if ((cert === undefined) !== (key === undefined)) {
    throw unavailable('exec: plugin returned only certificate or key, not both');
  }
  if (token === undefined && cert === undefined)
    throw unavailable("exec: plugin didn't return a token or cert/key pair");
  const expiry = text('expirationTimestamp');
  const expiresAtMs = expiry === undefined ? undefined : Date.parse(expiry);
  if (Number.isNaN(expiresAtMs)) throw unavailable('exec: status.expirationTimestamp must be a timestamp');
  return { token, cert, key, expiresAtMs };
}

function unavailable(message: string, cause?: unknown): KubeError {
  return new KubeError({ code: 'CredentialsUnavailable', message, cause });
}
