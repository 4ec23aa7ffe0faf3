import type { Attack } from '../attack.ts';
import { delay } from '../connections.ts';

/** Maximum number of idle connections that the victim may keep. */
const MOST = 260;

export const idleHealth: Attack = {
  name: 'idle-health',
  input: '600 idle connections on the health port',
  async run({ victim, connections, count }) {
    const before = await victim.descriptors();
    const opened = count(600);
    for (let n = 0; n < opened; n++) {
      (await connections.connect({ host: '127.0.0.1', port: victim.healthzPort })).resume();
    }
    await delay(200);
    const kept = (await victim.descriptors()) - before;
    const success = kept > MOST ? `${kept} idle connections were kept` : undefined;
    return { did: `${kept} of ${opened} idle connections were kept`, success };
  },
};
