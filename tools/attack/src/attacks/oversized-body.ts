import type { Attack } from '../attack.ts';
import { received, statusOf, written } from '../connections.ts';
import { TOKEN } from '../token.ts';

export const oversizedBody: Attack = {
  name: 'oversized-body',
  input: 'an authorized client sends a chunked body of 512 MB',
  async run({ victim, connections, count }) {
    const client = await connections.connectTls(victim.port, { ALPNProtocols: ['http/1.1'] });
    const answer = received(client, 10_000);
    const auth = `Authorization: Bearer ${TOKEN}`;
    client.write(`POST /stats/summary HTTP/1.1\r\nHost: x\r\n${auth}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1 << 20, 'a'), Buffer.from('\r\n')]);
    let sent = 0;
    for (; sent < count(512) && client.writable; sent++) {
      await written(client, chunk);
    }
    client.end();
    const status = statusOf(await answer);
    return {
      did: `status ${status} after ${sent} MB`,
      success: status === 200 ? 'a body without a limit was read' : undefined,
    };
  },
};
