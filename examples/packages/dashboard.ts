// From packages/dashboard/README.md, which explains the program.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Dashboard } from '@node-agent/dashboard';

const dashboard = new Dashboard({
  node: {
    nodeName: 'demo',
    pods: () => [],
    explain: () => undefined,
    problems: () => ['this node has no runtime'],
    eviction: () => undefined,
    node: async () => ({}),
    stats: () => Promise.reject(new Error('nothing is measured')),
    async *readLog() {},
  },
});
const server = createServer(async ({ url = '/', headers }, response) => {
  const { pathname, searchParams: query } = new URL(url, 'http://localhost');
  const leaving = new AbortController();
  response.on('close', () => leaving.abort());
  const path = pathname.split('/').slice(2);
  const answer = dashboard.answer({ root: 'dashboard', path, query, headers, signal: leaving.signal });
  response.writeHead(answer.status, answer.headers);
  if ('body' in answer) response.end(answer.body);
  else for await (const chunk of answer.stream) response.write(chunk);
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const address = server.address();
const port = typeof address === 'object' ? address?.port : undefined;
const page = await fetch(`http://127.0.0.1:${port}/dashboard/`);
console.log(page.status, page.headers.get('content-type'));
server.close();
