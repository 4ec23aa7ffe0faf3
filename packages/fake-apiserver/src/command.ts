import { parseArgs } from 'node:util';
import { systemClock, systemRandom } from '@node-agent/async';
import { FakeApiServer } from './fake-api-server.ts';
import { FakeApiServerHttp } from './fake-api-server-http.ts';

const USAGE = `Usage: fake-apiserver [--host ADDRESS] [--port PORT]

An in-memory Kubernetes API server over plain HTTP: kubectl --server http://127.0.0.1:PORT --validate=false ...

  --host ADDRESS   address to listen on, 127.0.0.1 by default
  --port PORT      port to listen on, 8001 by default; 0 selects a free port
  --help           print this help
`;

/**
 * Runs the command.
 * @returns the exit code of the command
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'string', default: '8001' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      return 0;
    }
    if (!/^\d{1,5}$/.test(values.port)) throw new TypeError(`--port ${JSON.stringify(values.port)}: must be a number`);
    const api = new FakeApiServer({ clock: systemClock, random: systemRandom });
    const server = new FakeApiServerHttp({ api }, { host: values.host, port: Number(values.port) });
    await server.start();
    process.stdout.write(`fake-apiserver is listening at ${server.url}\n`);
    await new Promise<void>((resolve) => {
      process.once('SIGINT', () => resolve());
      process.once('SIGTERM', () => resolve());
    });
    await server.close();
    return 0;
  } catch (error) {
    process.stderr.write(`fake-apiserver: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}
