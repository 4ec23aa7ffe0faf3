import { Agent, request } from 'node:https';

/** Port and client credentials (PEM) for a kubelet's authenticated server. */
export interface KubeletCaller {
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

/**
 * HTTPS client of a kubelet's authenticated server, with keep-alive connections. The server's self-signed certificate
 * is not verified.
 */
export class KubeletCalls {
  readonly #caller: KubeletCaller;
  readonly #agent: Agent;

  /** @param connections maximum number of concurrent connections */
  constructor(caller: KubeletCaller, connections = 8) {
    this.#caller = caller;
    const { cert, key } = caller;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, cert, key, rejectUnauthorized: false });
  }

  /** Fetches a page of the kubelet's server and returns its text. @throws Error if the status is not 200 */
  async page(path: string, signal?: AbortSignal): Promise<string> {
    const parts: Buffer[] = [];
    await this.read(path, (part) => parts.push(part), signal);
    return Buffer.concat(parts).toString('utf8');
  }

  /** Streams a response until it ends. */
  read(path: string, onPart: (part: Buffer) => void, signal?: AbortSignal): Promise<void> {
    const { port } = this.#caller;
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port, path, agent: this.#agent, ...(signal && { signal }) },
        (response) => {
          response.on('error', reject);
          if (response.statusCode !== 200) {
            response.resume();
            reject(new Error(`GET ${path}: ${response.statusCode}`));
            return;
          }
          response.on('data', onPart);
          response.on('end', resolve);
        },
      );
      sent.on('error', reject);
      sent.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
