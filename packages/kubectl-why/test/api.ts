import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { runWhy } from '../src/command.ts';

export interface Said {
  status?: number;
  body: string | object;
}

/** Stands for a missing response: the server never responds to the request. */
export const NO_ANSWER = 'no answer';

/** An API server with scripted responses by path, and a kubeconfig that refers to it. */
export class ScriptedApi {
  readonly answers: Map<string, Said | (() => Said) | typeof NO_ANSWER> = new Map();
  readonly asked: { path: string; authorization: string | undefined }[] = [];
  kubeconfig = '';

  static async start(): Promise<ScriptedApi> {
    const api = new ScriptedApi();
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      api.asked.push({ path, authorization: request.headers.authorization });
      const found = api.answers.get(path);
      if (found === NO_ANSWER) return;
      const { status = 200, body } = (typeof found === 'function' ? found() : found) ?? status404(path);
      const isPlain = typeof body === 'string' && !path.endsWith('format=json');
      const isPage = typeof body === 'string' && body.startsWith('<html>');
      const type = isPage ? 'text/html' : isPlain ? 'text/plain' : 'application/json';
      response.writeHead(status, { 'content-type': type });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const directory = await mkdtemp(join(tmpdir(), 'kubectl-why-'));
    api.kubeconfig = join(directory, 'config');
    const { port } = server.address() as AddressInfo;
    const context = (name: string, namespace?: string) => ({
      name,
      context: { cluster: 'c', user: 'u', ...(namespace && { namespace }) },
    });
    await writeFile(
      api.kubeconfig,
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'main' },
        clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}/prefix` } }],
        users: [{ name: 'u', user: { token: 'secret' } }],
        contexts: [context('main'), context('other', 'team')],
      }),
    );
    afterAll(async () => {
      server.closeAllConnections();
      server.close();
      await rm(directory, { recursive: true });
    });
    return api;
  }

  /** Sets the response for a path. @param path path below the prefix of the server */
  says(path: string, body: string | object, status = 200): void {
    this.answers.set(`/prefix${path}`, { status, body });
  }

  pod(name: string, spec: object, status: object = {}, namespace = 'default'): void {
    const metadata = { name, namespace, uid: `uid-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' };
    this.says(`/api/v1/namespaces/${namespace}/pods/${name}`, { metadata, spec, status });
  }

  async why(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
    const [out, err] = [sink(), sink()];
    const code = await runWhy(['--kubeconfig', this.kubeconfig, ...argv], {
      ...{ out, err },
      version: '1.2.3',
      signal: this.ending.signal,
    });
    return { code, out: out.text, err: err.text };
  }

  ending: AbortController = new AbortController();
}

/** Returns a stream that keeps everything that is written to the stream. */
export function sink(): { text: string; write(part: string): void } {
  return {
    text: '',
    write(part) {
      this.text += part;
    },
  };
}

function status404(path: string): Said {
  return { status: 404, body: apiStatus(404, 'NotFound', `${path} not found`) };
}

export function apiStatus(code: number, reason: string, message: string): object {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', ...{ code, reason, message } };
}
