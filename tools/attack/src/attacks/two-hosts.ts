import type { Attack } from '../attack.ts';
import { statusOf } from '../connections.ts';
import { TOKEN } from '../token.ts';

const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;
/** Requests with the status that each must get. */
const REQUESTS: readonly (readonly [head: string, status: number])[] = [
  [`GET /pods HTTP/1.1\r\nHost: a\r\nHost: b\r\n${AUTHORIZATION}`, 400],
  [`GET /pods HTTP/1.1\r\nHost: a\r\nhost: a\r\n${AUTHORIZATION}`, 400],
  [`GET /pods HTTP/1.1\r\nHost: a\r\nHOST: b\r\n${AUTHORIZATION}\r\nUpgrade: websocket`, 400],
];

export const twoHosts: Attack = {
  name: 'two-hosts',
  input: 'requests with two Host headers',
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
