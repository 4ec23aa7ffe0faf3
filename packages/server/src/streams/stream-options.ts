/** Which streams of a command are asked for. */
export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** What a query asks for, or the words that refuse it with 400. */
export type StreamQuery<T> = { readonly options: T } | { readonly options?: undefined; readonly message: string };

/** Reads the query of `/exec` and `/attach` (`NewOptions`, `k8s.io/cri-streaming/pkg/streaming/remotecommand`). */
export function remoteCommandOptions(query: URLSearchParams): StreamQuery<RemoteCommandOptions> {
  const isAsked = (name: string): boolean => query.get(name) === '1';
  const tty = isAsked('tty');
  const [stdin, stdout] = [isAsked('input'), isAsked('output')];
  // A terminal has one output.
  const stderr = isAsked('error') && !tty;
  if (!stdin && !stdout && !stderr) return { message: 'you must specify at least 1 of stdin, stdout, stderr' };
  return { options: { stdin, stdout, stderr, tty } };
}

/**
 * Reads the ports of `/portForward`, which a WebSocket client has to name; SPDY names them stream by stream (`NewV4Options`,
 * `k8s.io/cri-streaming/pkg/streaming/portforward`).
 */
export function forwardedPorts(query: URLSearchParams, isWebSocket: boolean): StreamQuery<readonly number[]> {
  if (!isWebSocket) return { options: [] };
  const given = query.getAll('port');
  if (given.length === 0) return { message: 'query parameter "port" is required' };
  const ports: number[] = [];
  for (const list of given) {
    if (list === '') return { message: 'query parameter "port" cannot be empty' };
    for (const text of list.split(',')) {
      const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
      if (!(port <= 65_535)) return { message: `unable to parse ${JSON.stringify(list)} as a port` };
      if (port < 1) return { message: `port ${JSON.stringify(list)} must be > 0` };
      ports.push(port);
    }
  }
  return { options: ports };
}
