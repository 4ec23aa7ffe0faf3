import { findContainer, type Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { Answer } from '../http/exchange.ts';
import { text } from '../http/reply.ts';
import type { Call, Endpoints } from './call.ts';
import { logContainer } from './log-container.ts';
import { type ContainerLogOptions, parseLogQuery } from './log-query.ts';

/** Where the logs of containers come from. */
export interface LogComponents {
  /** A pod of this node, with its newest status. */
  getPodByName(namespace: string, name: string): Pod | undefined;
  /**
   * The output of a container: ends where it does, or when `options` have enough. Whoever stops reading leaves nothing open.
   * @param containerId as a status has it: `containerd://4c01...`
   */
  readLog(
    containerId: string,
    options: ContainerLogOptions,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly data: Uint8Array }>;
}

export interface LogEndpointOptions {
  /** The feature gate PodLogsQuerySplitStreams; false by default. */
  readonly splitStreams?: boolean;
}

const HEADERS = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };

/** `/containerLogs/{namespace}/{pod}/{container}` of a {@link SecuredServer}; answers are upstream's (`getContainerLogs`). */
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
  // Whether or not anybody has begun to read: the files are closed when nobody will.
  signal.addEventListener('abort', () => void log.return?.()?.catch(() => {}), { once: true });
  if (options.follow) return { status: 200, headers: HEADERS, stream: followed(log, signal) };
  try {
    // What fails at once is an answer of its own; later, it breaks the answer off.
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

/** The client hears at once that there is a log, however long it is silent. The server's end is the log's. */
async function* followed(log: Log, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let hasBegun = false;
  try {
    for (let next = await log.next(); !next.done; next = await log.next()) {
      hasBegun = true;
      yield next.value.data;
    }
  } catch (error) {
    if (signal.aborted) return;
    // As upstream: that there is a log was said already, so the reason is all that there is of it.
    if (hasBegun) throw error;
    yield Buffer.from(`${errorText(error)}\n`);
  }
}
