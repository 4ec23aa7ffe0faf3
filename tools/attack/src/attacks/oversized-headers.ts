import type { Attack } from '../attack.ts';
import { statusOf } from '../connections.ts';

export const oversizedHeaders: Attack = {
  name: 'oversized-headers',
  input: '20 heads of 4 MB',
  async run({ victim, connections, count }) {
    const head = `GET /pods HTTP/1.1\r\nHost: x\r\n${`X-Odd: ${'a'.repeat(8000)}\r\n`.repeat(500)}\r\n`;
    const statuses = new Set<number>();
    for (let n = 0; n < count(20); n++) statuses.add(statusOf(await connections.exchange(victim.port, head)));
    const refused = [...statuses].every((status) => status === 431 || status === 0);
    return { did: `status ${[...statuses].join(', ')}`, success: refused ? undefined : 'a head of 4 MB was accepted' };
  },
};
