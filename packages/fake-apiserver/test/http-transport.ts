import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { HttpTransport } from '../src/index.ts';

/** A client over real sockets. Each request uses its own connection. */
export function httpTransport(url: string, tls: RequestOptions = {}, token?: string): HttpTransport {
  const { protocol, hostname, port } = new URL(url);
  const open = protocol === 'https:' ? httpsRequest : httpRequest;
  return {
    request: async ({ method, path, headers, body }, signal) => {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = open({
          ...tls,
          hostname,
          port,
          method,
          path,
          headers: { ...headers, ...authorization, ...length },
          agent: false,
          ...(signal === undefined ? {} : { signal }),
        });
        outgoing.on('response', resolve);
        outgoing.on('error', reject);
        outgoing.end(body);
      });
      const found: Record<string, string | undefined> = {};
      for (const [name, value] of Object.entries(incoming.headers)) found[name] = [value ?? []].flat().join(', ');
      return { status: incoming.statusCode ?? 0, headers: found, body: incoming };
    },
  };
}
