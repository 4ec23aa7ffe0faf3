import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Dashboard } from '../src/index.ts';

/** Serves a dashboard below `/dashboard` on a free port of the loopback interface. */
export async function serve(dashboard: Dashboard): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => void answer(dashboard, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/dashboard/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answer(dashboard: Dashboard, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const [, root, ...path] = pathname.split('/');
  const leaving = new AbortController();
  response.on('close', () => leaving.abort());
  if (root !== 'dashboard') {
    response.writeHead(404).end();
    return;
  }
  const made = dashboard.answer({ root, path, query: searchParams, headers: request.headers, signal: leaving.signal });
  response.writeHead(made.status, made.headers);
  if ('body' in made) {
    response.end(made.body);
    return;
  }
  response.flushHeaders();
  for await (const chunk of made.stream) {
    if (response.destroyed) return;
    if (response.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.on('drain', done).on('close', done);
    });
  }
  response.end();
}
