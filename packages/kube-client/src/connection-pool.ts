import type { OutgoingHttpHeaders } from 'node:http';
import type { HttpRequest, HttpResponse } from './transport.ts';

/** Connections to one server with one set of credentials. */
export interface ConnectionPool {
  /** @param headers the request's own and those of the credentials */
  send(request: HttpRequest, headers: OutgoingHttpHeaders, signal: AbortSignal | undefined): Promise<HttpResponse>;
  /** How many streams (answers that never end by themselves) are open. */
  readonly streams: number;
  /** Ends the streams with `ConnectionReplaced`, lets other requests finish, and then the connections go. */
  retire(why: string): void;
  /** Ends everything at once. */
  destroy(why: string): void;
}

/** The address of a server. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** `host:port` as it stands in the URL, for the header `Host`. */
  readonly authority: string;
  /** What goes before each request's path. */
  readonly pathPrefix: string;
}

/** The address in a URL. */
export function addressOf(url: URL): ServerAddress {
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    authority: url.host,
    pathPrefix: url.pathname.replace(/\/$/, ''),
  };
}
