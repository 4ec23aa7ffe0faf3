import type { Attack } from '../attack.ts';
import { delay } from '../connections.ts';
import { http2Clients } from '../http2-clients.ts';
import { goAway } from '../http2-frames.ts';

export const http2Goaway: Attack = {
  name: 'http2-goaway',
  input: '100 HTTP/2 clients send GOAWAY in the middle of a request',
  async run(scene) {
    const clients = await http2Clients(scene, scene.count(100), '/containerLogs/ns/pod/c');
    await delay(5);
    for (const client of clients) client.end(goAway());
    return { did: `${clients.length} clients sent GOAWAY and stayed connected` };
  },
};
