import type { Attack } from '../attack.ts';
import { delay, ended } from '../connections.ts';
import { TOKEN } from '../token.ts';

export const slowBody: Attack = {
  name: 'slow-body',
  input: '100 authorized clients send one byte of a body every 100 ms',
  async run({ victim, connections, count, signal }) {
    const clients = await Promise.all(
      Array.from({ length: count(100) }, () => connections.connectTls(victim.port, { ALPNProtocols: ['http/1.1'] })),
    );
    let open = clients.length;
    for (const client of clients) void ended(client).then(() => open--);
    const head = `POST /stats/summary HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 100000\r\n\r\n`;
    for (const client of clients) client.write(head);
    while (open > 0 && !signal.aborted) {
      for (const client of clients) if (client.writable) client.write('a');
      await delay(100);
    }
    return { did: `${clients.length - open} of ${clients.length} connections were closed` };
  },
};
