// From packages/pod-net/README.md, which explains the program.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@node-agent/async';
import { httpGet, httpGetRequest, tcpConnect } from '@node-agent/pod-net';

const server = createServer((_, response) => response.end('fine')).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { port } = server.address() as AddressInfo;

const options = { podIp: '127.0.0.1', userAgent: 'kube-probe/1.36' };
const request = httpGetRequest({ port: 'web', path: '/healthz' }, { ports: [{ name: 'web', containerPort: port }] }, options);
console.log(await httpGet(request, { clock: systemClock, timeoutMs: 1000 }));
console.log((await tcpConnect({ host: '127.0.0.1', port, timeoutMs: 1000 }, { clock: systemClock })) ?? 'connected');
server.close();
