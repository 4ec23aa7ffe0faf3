import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { WhyError } from './errors.ts';

/** What the API server, or a node behind it, has answered. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The API server of a kubeconfig, asked by GET. */
export interface ApiServer {
  /** The namespace of the context. */
  readonly namespace: string;
  get(path: string, accept: string): Promise<Answer>;
}

/** More than any explanation takes. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Reads a kubeconfig as kubectl does.
 * @param signal ends what is asked
 * @throws WhyError where there is none, or the context is not in it
 */
export function connect(
  asked: {
    readonly kubeconfig: string | undefined;
    readonly context: string | undefined;
    readonly timeoutMs: number;
  },
  signal: AbortSignal,
): ApiServer {
  const { timeoutMs } = asked;
  const config = new KubeConfig();
  try {
    if (asked.kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(asked.kubeconfig);
  } catch (error) {
    const named = asked.kubeconfig === undefined ? '' : ` ${asked.kubeconfig}`;
    throw new WhyError(`the kubeconfig${named} cannot be read: ${text(error)}`, { cause: error });
  }
  const context = asked.context || config.getCurrentContext();
  if (context && config.getContextObject(context) == null) {
    const known = config.getContexts().map(({ name }) => name);
    throw new WhyError(
      `the kubeconfig has no context ${JSON.stringify(context)}; it has ${known.join(', ') || 'none'}`,
    );
  }
  config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster == null) throw new WhyError('the kubeconfig names no cluster: set a context, or give --context');
  const server = serverOf(cluster.server);
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
  return {
    namespace,
    async get(path, accept) {
      const url = server;
      const base = url.pathname.replace(/\/$/, '');
      const options: RequestOptions = { headers: { accept, 'user-agent': 'kubectl-why' }, timeout: timeoutMs };
      try {
        // Behind `kubectl proxy` none are needed, and nobody's go over a connection that others can read.
        if (url.protocol === 'https:') await abortable(config.applyToHTTPSOptions(options), signal);
      } catch (error) {
        throw new WhyError(`the credentials of the kubeconfig cannot be had: ${text(error)}`, { cause: error });
      }
      return await fetched(new URL(`${url.origin}${base}${path}`), options, { timeoutMs, signal });
    },
  };
}

/** @throws WhyError where it is none that can be asked */
function serverOf(text: unknown): URL {
  const url = URL.parse(String(text));
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return url;
  throw new WhyError(
    `the kubeconfig's cluster has the server ${JSON.stringify(text) ?? 'undefined'}, which is no http or https URL`,
  );
}

/** A plugin for credentials takes as long as it likes, and no signal. @throws the signal's reason */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function fetched(
  url: URL,
  options: RequestOptions,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      const why =
        error.name === 'TimeoutError' || error.name === 'AbortError'
          ? `no answer in ${timeoutMs / 1_000} s`
          : text(error);
      reject(new WhyError(`the API server at ${url.origin} cannot be reached: ${why}`, { cause: error }));
    };
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
    // Of an agent that keeps connections the program could not end at once.
    const request = send(url, { ...options, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
    request.on('error', fail);
    request.on('response', (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on('error', fail);
      response.on('data', (part: Buffer) => {
        size += part.length;
        if (size > MAX_BODY_BYTES) request.destroy(new Error(`its answer is larger than ${MAX_BODY_BYTES} bytes`));
        else parts.push(part);
      });
      response.on('end', () => {
        const contentType = response.headers['content-type'] ?? '';
        resolve({ status: response.statusCode ?? 0, contentType, body: Buffer.concat(parts).toString('utf8') });
      });
    });
    request.end();
  });
}

/** Errors of several addresses have no message of their own. */
function text(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(text).join('; ');
  return error instanceof Error ? error.message : String(error);
}
