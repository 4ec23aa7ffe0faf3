// Answers all probes of a node, and notes when they come. A child process of the bench: what it uses is not counted to anybody that is measured.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What it is told: to forget what came, or to tell of it. */
export type ProbedOrder = 'forget' | 'tell';

/** What it says: where it is, or what came since it was told to forget. */
export type ProbedNews = { readonly port: number } | { readonly arrivals: Readonly<Record<string, readonly number[]>> };

const ANSWER = 'ok\n';
const HEADERS = { 'content-type': 'text/plain', 'content-length': ANSWER.length } as const;

async function main(): Promise<void> {
  const arrivals = new Map<string, number[]>();
  // A probe comes when its connection does: what the server does before it has read the request is no matter of the kubelet's.
  const connectedMs = new WeakMap<object, number>();
  const note = ({ socket, url = '' }: IncomingMessage): void => {
    const atMs = connectedMs.get(socket) ?? performance.now();
    connectedMs.delete(socket);
    const times = arrivals.get(url);
    if (times) times.push(atMs);
    else arrivals.set(url, [atMs]);
  };
  const server = createServer((request, response) => {
    note(request);
    response.writeHead(200, HEADERS).end(ANSWER);
  });
  server.on('connection', (socket) => connectedMs.set(socket, performance.now()));
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0, backlog: 1_024 }, resolve));
  process.on('message', (order: ProbedOrder) => {
    if (order === 'forget') arrivals.clear();
    else tell({ arrivals: Object.fromEntries(arrivals) });
  });
  process.on('disconnect', () => process.exit());
  tell({ port: (server.address() as AddressInfo).port });
}

function tell(news: ProbedNews): void {
  process.send?.(news);
}

await main();
