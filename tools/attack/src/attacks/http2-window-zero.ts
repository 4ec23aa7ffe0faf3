import type { Attack } from '../attack.ts';
import { delay } from '../connections.ts';
import { http2Clients } from '../http2-clients.ts';

export const http2WindowZero: Attack = {
  name: 'http2-window-zero',
  input: '100 HTTP/2 clients with a window of 0 request 4 MB and end their side',
  async run(scene) {
    const clients = await http2Clients(scene, scene.count(100), '/metrics', 0);
    await delay(5);
    for (const client of clients) client.end();
    return { did: `${clients.length} responses were never read` };
  },
};
