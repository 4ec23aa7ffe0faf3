import type { Attack } from '../attack.ts';
import { delay } from '../connections.ts';
import { http2Clients } from '../http2-clients.ts';

export const http2Leave: Attack = {
  name: 'http2-leave',
  input: '100 HTTP/2 clients leave in the middle of a request',
  async run(scene) {
    const clients = await http2Clients(scene, scene.count(100), '/pods');
    await delay(5);
    for (const client of clients) client.destroy();
    return { did: `${clients.length} connections were closed` };
  },
};
