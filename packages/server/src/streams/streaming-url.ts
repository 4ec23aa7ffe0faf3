import { ServerError } from '../errors.ts';

/** Where the runtime serves a stream. */
export interface StreamingEndpoint {
  readonly secure: boolean;
  /** A loopback address, or `localhost`. */
  readonly host: string;
  readonly port: number;
  /** With its query. */
  readonly path: string;
}

/**
 * Takes a runtime's streaming URL apart. It must be one of this machine alone: whoever reaches it executes without being asked
 * who they are.
 * @throws ServerError `BadStreamingUrl`
 */
export function parseStreamingUrl(text: string): StreamingEndpoint {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw bad('is no URL');
  const { protocol, hostname, port, username, password, pathname, search } = url;
  if (protocol !== 'http:' && protocol !== 'https:') throw bad(`has the scheme ${protocol.slice(0, -1)}`);
  if (username !== '' || password !== '') throw bad('has a user in it');
  const host = hostname.replace(/^\[|\]$/g, '');
  if (host !== 'localhost' && host !== '::1' && !/^127(?:\.\d{1,3}){3}$/.test(host)) {
    throw bad(`leads to ${host}, which is not loopback`);
  }
  const secure = protocol === 'https:';
  return { secure, host, port: port === '' ? (secure ? 443 : 80) : Number(port), path: `${pathname}${search}` };
}

/** The URL itself is not told: whoever has it may use it (W4). */
function bad(fault: string): ServerError {
  return new ServerError('BadStreamingUrl', `the container runtime's streaming URL ${fault}`);
}
