import { seededRandom } from '@node-agent/async';
import type { Attack } from '../attack.ts';
import { ended } from '../connections.ts';

const HELLO = Buffer.from('16030102000100', 'hex');

export const garbageTls: Attack = {
  name: 'garbage-tls',
  input: '500 connections of random bytes, some after the head of a ClientHello',
  async run({ victim, connections, count }) {
    const random = seededRandom(20_261_128);
    const bytes = (length: number): Buffer =>
      Buffer.from(Array.from({ length }, () => Math.floor(random.next() * 256)));
    const sent = count(500);
    for (let n = 0; n < sent; n++) {
      const client = await connections.connect({ host: '127.0.0.1', port: victim.port });
      client.write(Buffer.concat([n % 2 === 0 ? HELLO : Buffer.alloc(0), bytes(1 + Math.floor(random.next() * 600))]));
      if (n % 4 !== 0) client.end();
      if (n % 4 === 1) await ended(client);
    }
    return { did: `${sent} handshakes failed` };
  },
};
