// Server that responds to all probes of a node and records the arrival times. The server is a child process, so that
// its CPU time is not counted for the measured processes.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Request to the server: delete the recorded arrivals, or send them. */
export type ProbedOrder = 'forget' | 'tell';

/** Messages of the server: its port, or the arrivals since the last `forget`. */
export type ProbedNews = { readonly port: number } | { readonly arrivals: Readonly<Record<string, readonly number[]>> };

const ANSWER = 'ok\n';
const HEADERS = { 'content-type': 'text/plain', 'content-length': ANSWER.length } as const;

async function main(): Promise<void> {
  const arrivals = new Map<string, number[]>();
  // The arrival time of a probe is the time at which its connection was accepted: the kubelet does not cause the delay
  // until the server has read the request.
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
