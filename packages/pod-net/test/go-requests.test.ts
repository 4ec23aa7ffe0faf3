import { systemClock } from '@node-agent/async';
import { expect, test } from 'vitest';
import { httpGet } from '../src/http-get.ts';
import { httpGetRequest } from '../src/http-request.ts';
import { LoopbackServer } from './fixtures.ts';
import { GO_REQUESTS, type GoRequest } from './go-requests.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

/** Runs a recorded `httpGet` action with this package. The server sends the recorded responses. */
async function run({ host = '127.0.0.1', path = '/a?b#c', headers = [], answers = [OK] }: GoRequest) {
  await using server = await new LoopbackServer((socket, { connections, port }) => {
    const answer = answers[Math.min(connections, answers.length) - 1] ?? '';
    socket.end(Buffer.from(answer.replaceAll('PORT', `${port}`), 'latin1'));
  }).listening();
  const { port } = server;
  const withoutPort = (text: string): string => text.replaceAll(`${port}`, 'PORT');
  const httpHeaders = headers.map(([name, value]) => ({ name, value }));
  const options = { podIp: '10.0.0.5', userAgent: 'kube-probe/1.36' };
  try {
    const request = httpGetRequest({ host, port, path: path.replaceAll('PORT', `${port}`), httpHeaders }, {}, options);
    const result = await httpGet(request, { clock: systemClock, timeoutMs: 5000 });
    const requests = server.requests.map((head) => withoutPort(head).replaceAll('\r\n', '|'));
    if (result.kind === 'fault') return { requests, fault: withoutPort(result.message) };
    return { requests, status: result.status, body: withoutPort(result.body) };
  } catch (error) {
    return { requests: [], refused: withoutPort((error as Error).message) };
  }
}

test.each(GO_REQUESTS.map((wanted) => [JSON.stringify(wanted).slice(0, 150), wanted] as const))(
  "httpGet sends the same requests and returns the same result as Go's client: %s",
  async (_, wanted) => {
    const { requests, refused, fault, status = 200, body = 'hi' } = wanted;
    const outcome = refused !== undefined ? { refused } : fault !== undefined ? { fault } : { status, body };
    expect(await run(wanted)).toEqual({ requests, ...outcome });
  },
);
