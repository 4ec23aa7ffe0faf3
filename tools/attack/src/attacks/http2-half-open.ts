import type { Attack } from '../attack.ts';
import { delay } from '../connections.ts';
import { http2Clients } from '../http2-clients.ts';

/**
 * The victim must close connections although their clients keep them open. Descriptors are counted while the clients
 * are still connected.
 */
export const http2HalfOpen: Attack = {
  name: 'http2-half-open',
  input: '100 HTTP/2 clients end their side and keep the connection',
  async run(scene) {
    const before = await scene.victim.descriptors();
    const clients = await http2Clients(scene, scene.count(100), '/containerLogs/ns/pod/c');
    for (const client of clients) client.end();
    let kept = clients.length;
    while (kept > 0 && !scene.signal.aborted) {
      await delay(50);
      kept = Math.max(0, (await scene.victim.descriptors()) - before - 1);
    }
    return { did: `${clients.length - kept} of ${clients.length} connections were closed` };
  },
};
