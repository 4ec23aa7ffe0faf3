import { seededRandom, systemClock } from '@node-agent/async';
import { afterAll } from 'vitest';
import { FakeApiServer, FakeApiServerHttp } from '../src/index.ts';
import { examine } from './compliance.ts';
import { httpTransport } from './http-transport.ts';

const api = new FakeApiServer({ clock: systemClock, random: seededRandom(1) });
const server = new FakeApiServerHttp({ api });
await server.start();
afterAll(() => server.close());

examine('fake-over-http', {
  connect: async () => httpTransport(server.url),
  wait: (ms) => new Promise((resolve) => void systemClock.setTimer(ms, resolve)),
  compact: async () => api.compact(),
});
