import type { OutgoingHttpHeaders } from 'node:http';
import type { HttpRequest, HttpResponse } from './transport.ts';

/** Connections to one server with one set of credentials. */
export interface ConnectionPool {
  /** @param headers the headers of the request and of the credentials */
  send(request: HttpRequest, headers: OutgoingHttpHeaders, signal: AbortSignal | undefined): Promise<HttpResponse>;
  /** The number of open streams (responses that last until one side ends them, such as watches). */
  readonly streams: number;
  /**
   * Ends open streams with the error `ConnectionReplaced`. Other requests complete, and each connection closes when it
   * is idle.
   */
  retire(why: string): void;
  /** Ends all requests and connections immediately. */
  destroy(why: string): void;
}

/** The address of a server. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** `host:port` as in the URL, for the header `Host`. */
  readonly authority: string;
  /** The prefix of each request's path. */
  readonly pathPrefix: string;
}

/** Returns the address in a URL. */
export function addressOf(url: URL): ServerAddress {
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    authority: url.host,
    pathPrefix: url.pathname.replace(/\/$/, ''),
  };
}
