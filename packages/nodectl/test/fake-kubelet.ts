import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { SpdyConnection, type SpdyStream } from '@node-agent/spdy';
import { runNodectl } from '../src/command.ts';

export interface Said {
  readonly status?: number;
  readonly body: string | object;
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A fake kubelet on a unix socket. A table of paths has its responses, and a function runs its commands. */
export class FakeKubelet {
  readonly answers: Map<string, Said | (() => Said)> = new Map();
  readonly asked: string[] = [];
  /** Called with the streams of each exec or port-forward. */
  onStream: (stream: SpdyStream, connection: SpdyConnection, path: string) => void = () => {};
  ending: AbortController = new AbortController();
  isTTY = false;
  stdin: PassThrough & { isTTY?: boolean } = new PassThrough();
  socket = '';
  #directory = '';
  #server: Server | undefined;

  static async start(): Promise<FakeKubelet> {
    const kubelet = new FakeKubelet();
    kubelet.#directory = await mkdtemp(join(tmpdir(), 'ctl-'));
    kubelet.socket = join(kubelet.#directory, 'admin.sock');
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      kubelet.asked.push(path);
      const found = kubelet.answers.get(path);
      const { status = 200, body } = (typeof found === 'function' ? found() : found) ?? notFound;
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      kubelet.#upgrade(request, socket, head);
    });
    kubelet.#server = server.listen(kubelet.socket);
    await new Promise((resolve) => server.once('listening', resolve));
    return kubelet;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
    await rm(this.#directory, { recursive: true });
  }

  /** Serves these pods. */
  pods(...items: readonly object[]): void {
    this.answers.set('/pods', { body: { kind: 'PodList', items } });
  }

  async run(...argv: readonly string[]): Promise<Ran> {
    return await this.runWith(['--socket', this.socket], argv);
  }

  async runWith(connection: readonly string[], argv: readonly string[]): Promise<Ran> {
    const [out, err] = [new PassThrough(), new PassThrough()];
    const texts = ['', ''];
    for (const [index, stream] of [out, err].entries()) {
      stream.on('data', (chunk) => {
        texts[index] = `${texts[index]}${chunk}`;
      });
    }
    const code = await runNodectl([...connection, ...argv], {
      ...{ stdin: this.stdin, stderr: err, version: '1.2.3' },
      stdout: Object.assign(out, { isTTY: this.isTTY, columns: 100, rows: 30 }),
      signal: this.ending.signal,
      nowMs: () => Date.parse('2026-03-01T00:10:00Z'),
    });
    await new Promise(setImmediate);
    return { code, out: texts[0] ?? '', err: texts[1] ?? '' };
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const path = request.url ?? '';
    this.asked.push(path);
    const found = this.answers.get(path);
    if (found !== undefined && typeof found !== 'function') {
      const body = String(found.body);
      socket.end(`HTTP/1.1 ${found.status} X\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    const protocol = String(request.headers['x-stream-protocol-version']);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
    );
    const connection: SpdyConnection = new SpdyConnection(socket, {
      ...{ role: 'server', head },
      onStream: (stream) => {
        this.onStream(stream, connection, path);
        return true;
      },
    });
  }
}

const notFound: Said = { status: 404, body: '404 page not found\n' };

/** A running static pod of the node n1. */
export function pod(name: string, more: { metadata?: object; spec?: object; status?: object } = {}): object {
  return {
    metadata: {
      ...{ name: `${name}-n1`, namespace: 'default', uid: `uid-${name}` },
      annotations: { 'kubernetes.io/config.source': 'file' },
      ...more.metadata,
    },
    spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'web:1' }], ...more.spec },
    status: {
      ...{ phase: 'Running', podIP: '10.0.0.5', startTime: '2026-03-01T00:00:00Z' },
      containerStatuses: [{ name: 'main', ready: true, restartCount: 0, state: { running: {} } }],
      ...more.status,
    },
  };
}
