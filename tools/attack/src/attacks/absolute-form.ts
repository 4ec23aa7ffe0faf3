import type { Attack } from '../attack.ts';
import { statusOf } from '../connections.ts';
import { TOKEN } from '../token.ts';

const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;
/** Requests with the status that each must get. */
const REQUESTS: readonly (readonly [head: string, status: number])[] = [
  [`GET https://node:10250/pods HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}`, 200],
  ['GET https://node:10250/pods HTTP/1.1\r\nHost: a', 401],
  [`GET https://user@node/pods/../logs/ HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}`, 400],
  [`GET https://node?/pods HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}`, 404],
  [`GET //node/pods HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}`, 400],
];

export const absoluteForm: Attack = {
  name: 'absolute-form',
  input: 'request targets in absolute form, with and without credentials',
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
