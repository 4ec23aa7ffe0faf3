/** The requested streams of a command. */
export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The parsed query, or the message of the 400 that rejects the request. */
export type StreamQuery<T> = { readonly options: T } | { readonly options?: undefined; readonly message: string };

/** Parses the query of `/exec` and `/attach` (`NewOptions`, `k8s.io/cri-streaming/pkg/streaming/remotecommand`). */
export function remoteCommandOptions(query: URLSearchParams): StreamQuery<RemoteCommandOptions> {
  const isAsked = (name: string): boolean => query.get(name) === '1';
  const tty = isAsked('tty');
  const [stdin, stdout] = [isAsked('input'), isAsked('output')];
  // A terminal has a single output, so that stderr is not separate.
  const stderr = isAsked('error') && !tty;
  if (!stdin && !stdout && !stderr) return { message: 'you must specify at least 1 of stdin, stdout, stderr' };
  return { options: { stdin, stdout, stderr, tty } };
}

/**
 * Parses the ports of `/portForward`. A WebSocket client must name the ports in the query. A SPDY client names the port
 * of each stream when it opens the stream, so that the query is ignored (`NewV4Options`,
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
