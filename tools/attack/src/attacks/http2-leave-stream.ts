import type { Attack } from '../attack.ts';
import { delay } from '../connections.ts';
import { http2Clients } from '../http2-clients.ts';

export const http2LeaveStream: Attack = {
  name: 'http2-leave-stream',
  input: '100 HTTP/2 clients that follow a silent log disconnect',
  async run(scene) {
    const clients = await http2Clients(scene, scene.count(100), '/containerLogs/ns/pod/c');
    await delay(5);
    for (const client of clients) client.destroy();
    return { did: `${clients.length} streams were abandoned` };
  },
};
