import type { Attack } from '../attack.ts';
import { statusOf } from '../connections.ts';
import { TOKEN } from '../token.ts';

const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;
/** Requests with the status that each must get. */
const REQUESTS: readonly (readonly [head: string, status: number])[] = [
  [`GET /pods HTTP/2.0\r\nHost: a\r\n${AUTHORIZATION}`, 505],
  [`GET /pods HTTP/0.9\r\nHost: a\r\n${AUTHORIZATION}`, 505],
  [`GET /pods HTTP/1.9\r\nHost: a\r\n${AUTHORIZATION}`, 400],
];

export const http2InHttp1: Attack = {
  name: 'http2-in-http1',
  input: 'HTTP/2.0 and HTTP/0.9 in the framing of HTTP/1',
  async run({ victim, connections }) {
    const wrong: string[] = [];
    const seen: number[] = [];
    for (const [head, status] of REQUESTS) {
      const got = statusOf(await connections.exchange(victim.port, `${head}\r\nConnection: close\r\n\r\n`));
      seen.push(got);
      if (got !== status) wrong.push(`${JSON.stringify(head)}: status ${got}, not ${status}`);
    }
    return { did: `status ${seen.join(', ')}`, success: wrong.length > 0 ? wrong.join('; ') : undefined };
  },
};
