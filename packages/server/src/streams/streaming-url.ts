import { ServerError } from '../errors.ts';

/** The address of a stream that the runtime serves. */
export interface StreamingEndpoint {
  readonly secure: boolean;
  /** The host of the URL: a loopback address, or `localhost`. */
  readonly host: string;
  readonly port: number;
  /** The path of the URL, including the query. */
  readonly path: string;
}

/** Maps unspecified addresses to the loopback address that Go dials for them. */
const UNSPECIFIED: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/**
 * Parses a runtime's streaming URL. A URL without a scheme is an http URL, as upstream reads it
 * (`k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go: normalizeLocation`); cri-dockerd returns such URLs. The host
 * must be this machine: the runtime executes commands for every caller that has the URL.
 * @throws ServerError `BadStreamingUrl`
 */
export function parseStreamingUrl(text: string): StreamingEndpoint {
  const url = URL.parse(text.startsWith('//') ? `http:${text}` : text);
  if (url === null) throw bad('is no URL');
  const { protocol, hostname, port, username, password, pathname, search } = url;
  if (protocol !== 'http:' && protocol !== 'https:')
    throw bad(`must have the scheme http or https, not ${protocol.slice(0, -1)}`);
  if (username !== '' || password !== '') throw bad('must not contain a user');
  const given = hostname.replace(/^\[|\]$/g, '');
  const host = UNSPECIFIED[given] ?? given;
  if (host !== 'localhost' && host !== '::1' && !/^127(?:\.\d{1,3}){3}$/.test(host)) {
    throw bad(`leads to ${host}, which is not loopback`);
  }
  const secure = protocol === 'https:';
  return { secure, host, port: port === '' ? (secure ? 443 : 80) : Number(port), path: `${pathname}${search}` };
}

/**
 * Creates the error for an invalid streaming URL. The message does not contain the URL, because the URL grants access
 * (W4).
 */
function bad(fault: string): ServerError {
  return new ServerError('BadStreamingUrl', `the container runtime's streaming URL ${fault}`);
}
