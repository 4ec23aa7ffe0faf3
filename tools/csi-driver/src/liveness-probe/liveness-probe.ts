import { createServer, type Server } from 'node:http';
import { GrpcClient } from '@node-agent/grpc';
import { identityRpcs } from '../generated/services.ts';

/** Time limit of the `Probe` call, in ms. */
const PROBE_MS = 1_000;

/** HTTP server whose `/healthz` reports whether a CSI driver responds to `Probe`. */
export class LivenessProbe {
  readonly #csiSocketPath: string;
  readonly #port: number;
  #server: Server | undefined;

  constructor({ csiSocketPath, port }: { readonly csiSocketPath: string; readonly port: number }) {
    this.#csiSocketPath = csiSocketPath;
    this.#port = port;
  }

  /** Listens on all addresses. @throws Error if the port is in use */
  async start(): Promise<void> {
    const server = createServer(({ url }, response) => {
      if (url !== '/healthz') {
        response.writeHead(404).end();
        return;
      }
      this.#problem().then((problem) => {
        response.writeHead(problem === undefined ? 200 : 500, { 'content-type': 'text/plain' });
        response.end(problem ?? 'ok');
      });
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, resolve);
    });
  }

  stop(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  async #problem(): Promise<string | undefined> {
    const client = new GrpcClient({}, { socketPath: this.#csiSocketPath });
    try {
      const { ready } = await client.unary(identityRpcs.probe, {}, { timeoutMs: PROBE_MS });
      return ready?.value === false ? 'the driver is not ready' : undefined;
    } catch (error) {
      return String(error);
    } finally {
      client.close();
    }
  }
}
