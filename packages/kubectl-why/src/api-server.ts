import { nodeFileSystem } from '@node-agent/host';
import { ConfiguredCredentials, KubeError, NodeTransport, nodeExec, proxyFor } from '@node-agent/kube-client';
import { WhyError } from './errors.ts';
import { connectionFor } from './kubeconfig.ts';

/** A response of the API server, or of a node behind it. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The API server of a kubeconfig, for GET requests. */
export interface ApiServer extends AsyncDisposable {
  /** The namespace of the context. */
  readonly namespace: string;
  get(path: string, accept: string): Promise<Answer>;
}

/** The size limit of a response, larger than any explanation. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Reads a kubeconfig as kubectl does and returns its API server.
 * @param signal aborts requests
 * @throws WhyError if there is no kubeconfig, or it lacks the context
 */
export async function connect(
  asked: {
    readonly kubeconfig: string | undefined;
    readonly context: string | undefined;
    readonly timeoutMs: number;
  },
  signal: AbortSignal,
): Promise<ApiServer> {
  const { timeoutMs } = asked;
  const { environment, connection } = await connectionIn(asked);
  const { cluster, namespace = 'default' } = connection;
  const server = new URL(cluster.server);
  // Behind `kubectl proxy` no credentials are needed, and none may be sent over an unencrypted connection.
  const user = server.protocol === 'https:' ? connection.user : {};
  const components = { fs: nodeFileSystem, exec: nodeExec, environment };
  const transport = new NodeTransport(
    { credentials: new ConfiguredCredentials(components, { ...connection, user }) },
    {
      server: cluster.server,
      skipTlsVerify: cluster.skipTlsVerify === true,
      proxy: proxyFor(server, cluster.proxyUrl, environment),
      ...(cluster.tlsServerName !== undefined && { tlsServerName: cluster.tlsServerName }),
    },
  );
  return {
    namespace,
    async get(path, accept) {
      const headers = { accept, 'user-agent': 'kubectl-why' };
      const limit = AbortSignal.timeout(timeoutMs);
      const ending = AbortSignal.any([signal, limit]);
      try {
        const response = await transport.request({ method: 'GET', path, headers }, ending);
        const contentType = response.headers['content-type'] ?? '';
        return { status: response.status, contentType, body: await textOf(response.body) };
      } catch (error) {
        if (signal.aborted) throw error;
        const isOfUser = KubeError.is(error) && error.code === 'CredentialsUnavailable';
        if (isOfUser) throw new WhyError(`cannot load credentials from kubeconfig: ${text(error)}`, { cause: error });
        const why = limit.aborted ? `no answer in ${timeoutMs / 1_000} s` : text(error);
        throw new WhyError(`the API server at ${server.origin} cannot be reached: ${why}`, { cause: error });
      }
    },
    async [Symbol.asyncDispose]() {
      await transport[Symbol.asyncDispose]();
    },
  };
}

async function connectionIn(asked: { readonly kubeconfig: string | undefined; readonly context: string | undefined }) {
  const environment = process.env;
  try {
    return { environment, connection: await connectionFor(asked, environment) };
  } catch (error) {
    if (!KubeError.is(error)) throw error;
    throw new WhyError(`the kubeconfig ${error.message}`, { cause: error });
  }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new Error(`its answer is larger than ${MAX_BODY_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/**
 * Returns the text of an error. An AggregateError, for example for several failed addresses, has no message of its own.
 */
function text(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(text).join('; ');
  return error instanceof Error ? error.message : String(error);
}
