import { OptionsError } from '@node-agent/async';

/** Address of a runtime, in the forms that users and gRPC write it. */
export interface Endpoint {
  /** Complete endpoint URL: `unix:///run/containerd/containerd.sock` or `tcp://127.0.0.1:3735`. */
  readonly url: string;
  /** The same address as a gRPC target. */
  readonly target: string;
  /** Warning for the user about the form in which the endpoint was written. */
  readonly warning?: string;
}

/** `sun_path` of a Linux socket address has 108 bytes including the terminating 0. */
const MAX_SOCKET_PATH_BYTES = 107;

/**
 * Parses a runtime endpoint: `unix:///path`, `tcp://host:port`, or a bare absolute path (deprecated).
 * Source: `k8s.io/cri-client/pkg/util/util_unix.go`, which supports `unix` only.
 *
 * @throws OptionsError if the endpoint is not valid; the message names the problem
 */
export function parseEndpoint(given: string): Endpoint {
  // A caller that passes `undefined` gets an OptionsError, not a TypeError about a missing method.
  const endpoint = String(given);
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1]?.toLowerCase();
  if (scheme === 'unix') return unixEndpoint(endpoint, endpoint.slice('unix:'.length));
  if (scheme === 'tcp') return tcpEndpoint(endpoint);
  if (scheme !== undefined) throw refuse(endpoint, `protocol "${scheme}" is not supported, use unix:// or tcp://`);
  return {
    ...unixEndpoint(endpoint, endpoint),
    warning: `Using "${endpoint}" as endpoint is deprecated, please consider using full url format "unix://${endpoint}"`,
  };
}

function unixEndpoint(endpoint: string, rest: string): Endpoint {
  const path = rest.replace(/^\/\/(?=\/)/, '');
  if (!/^\/[^/]/.test(path)) throw refuse(endpoint, 'a unix endpoint must have an absolute path: unix:///run/…');
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    throw refuse(endpoint, `the socket path must have at most ${MAX_SOCKET_PATH_BYTES} bytes, it has ${bytes}`);
  }
  return { url: `unix://${path}`, target: `unix:${path}` };
}

function tcpEndpoint(endpoint: string): Endpoint {
  const [, host, port] = /^tcp:\/\/(\[[0-9a-f:.%]+\]|[^/:@?#[\]]+):(\d{1,5})\/?$/i.exec(endpoint) ?? [];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw refuse(endpoint, 'a tcp endpoint must have the form tcp://host:port');
  }
  return { url: `tcp://${host}:${Number(port)}`, target: `dns:${host}:${Number(port)}` };
}

function refuse(endpoint: string, why: string): OptionsError {
  return new OptionsError('CriClient', 'endpoint', `runtime endpoint "${endpoint}": ${why}`);
}
