import { OptionsError } from '@node-agent/async';

/** Where a runtime listens, as gRPC wants it. */
export interface Endpoint {
  /** The endpoint in its full form, `unix:///run/containerd/containerd.sock` or `tcp://127.0.0.1:3735`. */
  readonly url: string;
  /** gRPC's name of it. */
  readonly target: string;
  /** What a user should know about how the endpoint was written. */
  readonly warning?: string;
}

/** `sun_path` of a Linux socket address has 108 bytes, the last of them 0. */
const MAX_SOCKET_PATH_BYTES = 107;

/**
 * Reads a runtime endpoint: `unix:///path`, `tcp://host:port`, or a bare absolute path, which is deprecated.
 * Source: `k8s.io/cri-client/pkg/util/util_unix.go`; that one knows `unix` alone.
 *
 * @throws OptionsError that says what is wrong with it
 */
export function parseEndpoint(given: string): Endpoint {
  // Who has no endpoint hears so, and not of a method that `undefined` does not have.
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
  if (!/^\/[^/]/.test(path)) throw refuse(endpoint, 'a unix endpoint needs an absolute path: unix:///run/…');
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    throw refuse(endpoint, `a socket's path has at most ${MAX_SOCKET_PATH_BYTES} bytes, this one has ${bytes}`);
  }
  return { url: `unix://${path}`, target: `unix:${path}` };
}

function tcpEndpoint(endpoint: string): Endpoint {
  const [, host, port] = /^tcp:\/\/(\[[0-9a-f:.%]+\]|[^/:@?#[\]]+):(\d{1,5})\/?$/i.exec(endpoint) ?? [];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw refuse(endpoint, 'a tcp endpoint is tcp://host:port');
  }
  return { url: `tcp://${host}:${Number(port)}`, target: `dns:${host}:${Number(port)}` };
}

function refuse(endpoint: string, why: string): OptionsError {
  return new OptionsError('CriClient', 'endpoint', `runtime endpoint "${endpoint}": ${why}`);
}
