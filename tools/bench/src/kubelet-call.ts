import { Agent, request } from 'node:https';

/** What lets one in at the secured port of a kubelet, PEM. */
export interface KubeletCaller {
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

/** The secured port of a kubelet, asked over connections that are kept. Its certificate is its own, and is not looked at. */
export class KubeletCalls {
  readonly #caller: KubeletCaller;
  readonly #agent: Agent;

  /** @param connections at most so many at once */
  constructor(caller: KubeletCaller, connections = 8) {
    this.#caller = caller;
    const { cert, key } = caller;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, cert, key, rejectUnauthorized: false });
  }

  /** Reads a page to its end. @throws Error with another status than 200 */
  async page(path: string, signal?: AbortSignal): Promise<string> {
    const parts: Buffer[] = [];
    await this.read(path, (part) => parts.push(part), signal);
    return Buffer.concat(parts).toString('utf8');
  }

  /** Reads as long as there is something to read. */
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
