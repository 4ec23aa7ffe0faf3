import type { ContainerStatus, Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { DashboardNode } from './ports.ts';

const DEFAULT_TAIL = 500;
const MAX_TAIL = 10_000;

/**
 * Returns the log of a container as a stream, or the reason why there is no log. The log of a running container is
 * followed. An error while reading is the last line of the stream.
 */
export function containerLog(
  node: Pick<DashboardNode, 'readLog'>,
  pod: Pod,
  name: string,
  query: URLSearchParams,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> | string {
  const previous = query.get('previous') === '1';
  const tail = query.get('tail') ?? String(DEFAULT_TAIL);
  if (!/^\d{1,5}$/.test(tail) || Number(tail) > MAX_TAIL) return `tail: must be a number up to ${MAX_TAIL}`;
  const status = statusOf(pod, name);
  const id = containerId(status, previous);
  if (id === undefined) {
    const { reason } = status?.state?.waiting ?? {};
    return previous ? 'there is no previous instance' : `the container has not started${reason ? `: ${reason}` : ''}`;
  }
  const follow = !previous && status?.state?.running !== undefined;
  const timestamps = query.get('timestamps') === '1';
  return chunks(node.readLog(id, { follow, previous, timestamps, tailLines: Number(tail) }, signal), signal);
}

async function* chunks(
  log: AsyncIterable<{ readonly data: Uint8Array }>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reading = log[Symbol.asyncIterator]();
  // Closes the files when the client has left, even while the container writes no line.
  signal.addEventListener('abort', () => void reading.return?.()?.catch(() => {}), { once: true });
  try {
    for (let next = await reading.next(); !next.done; next = await reading.next()) yield next.value.data;
  } catch (error) {
    if (!signal.aborted) yield Buffer.from(`${errorText(error)}\n`);
  }
}

function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {};
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  return all.find((container) => container.name === name);
}

/**
 * Returns the ID of the newest instance of a container that has a log. For a container that waits for its restart, that
 * is the last instance.
 */
function containerId(status: ContainerStatus | undefined, previous: boolean): string | undefined {
  const last = status?.lastState?.terminated?.containerID;
  if (previous) return last || undefined;
  const { running, terminated } = status?.state ?? {};
  return (running ? status?.containerID : terminated?.containerID) || last || undefined;
}
