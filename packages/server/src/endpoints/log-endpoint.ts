import { findContainer, type Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { Answer } from '../http/exchange.ts';
import { text } from '../http/reply.ts';
import type { Call, Endpoints } from './call.ts';
import { logContainer } from './log-container.ts';
import { type ContainerLogOptions, parseLogQuery } from './log-query.ts';

/** The components of {@link logEndpoints}. */
export interface LogComponents {
  /** Returns a pod of this node with its newest status. */
  getPodByName(namespace: string, name: string): Pod | undefined;
  /**
   * Yields the output of a container, up to the end of the log or to the limits of `options`. If the reader stops, all
   * resources are released.
   * @param containerId in the format of a pod status: `containerd://4c01...`
   */
  readLog(
    containerId: string,
    options: ContainerLogOptions,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly data: Uint8Array }>;
}

export interface LogEndpointOptions {
  /** State of the feature gate PodLogsQuerySplitStreams. Default: false. */
  readonly splitStreams?: boolean;
}

const HEADERS = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };

/**
 * Returns the handler of `/containerLogs/{namespace}/{pod}/{container}` of a {@link SecuredServer}, with the status
 * codes and texts of upstream (`getContainerLogs`).
 */
export function logEndpoints(node: LogComponents, { splitStreams = false }: LogEndpointOptions = {}): Endpoints {
  return { containerLogs: (call) => containerLogs(node, splitStreams, call) };
}

async function containerLogs(node: LogComponents, splitStreams: boolean, call: Call): Promise<Answer> {
  const { params, signal } = call;
  const query = parseLogQuery(call.query, splitStreams);
  if (query.options === undefined) return text(query.status, query.message);
  const { options } = query;
  const pod = node.getPodByName(params.namespace, params.pod);
  const podName = JSON.stringify(params.pod);
  if (pod === undefined) return text(404, `pod ${podName} does not exist`);
  if (findContainer(pod, params.container) === undefined) {
    return text(404, `container ${JSON.stringify(params.container)} not found in pod ${podName}`);
  }
  const container = logContainer(pod, params.container, options.previous);
  if (container.id === undefined) return text(400, container.problem);

  const log = node.readLog(container.id, options, signal)[Symbol.asyncIterator]();
  // Closes the log files when the request ends, even if reading the log never started.
  signal.addEventListener('abort', () => void log.return?.()?.catch(() => {}), { once: true });
  if (options.follow) return { status: 200, headers: HEADERS, stream: followed(log, signal) };
  try {
    // If the first read fails, the client gets a 400 with the error. If a later read fails, the response is broken off.
    return { status: 200, headers: HEADERS, stream: whole(await log.next(), log) };
  } catch (error) {
    signal.throwIfAborted();
    return text(400, errorText(error));
  }
}

type Log = AsyncIterator<{ readonly data: Uint8Array }, unknown>;

async function* whole(
  first: IteratorResult<{ readonly data: Uint8Array }, unknown>,
  log: Log,
): AsyncGenerator<Uint8Array> {
  for (let next = first; !next.done; next = await log.next()) yield next.value.data;
}

/**
 * Streams a followed log. The headers are sent before the first line, so that the client knows that the log exists. The
 * response ends when the log ends.
 */
async function* followed(log: Log, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let hasBegun = false;
  try {
    for (let next = await log.next(); !next.done; next = await log.next()) {
      hasBegun = true;
      yield next.value.data;
    }
  } catch (error) {
    if (signal.aborted) return;
    // As in upstream, an error before any output is sent as the response body, because the status 200 was already sent.
    if (hasBegun) throw error;
    yield Buffer.from(`${errorText(error)}\n`);
  }
}
