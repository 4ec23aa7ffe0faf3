import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Blob, type Image, MANIFEST_TYPE, parseReference } from './oci.ts';

/** Response of the registry. */
export interface RegistryAnswer {
  readonly status: number;
  readonly type: string;
  readonly digest?: string;
  readonly data: Uint8Array;
}

/**
 * Registry that containerd uses as a mirror of all registries. containerd passes the original registry in the query
 * parameter `ns` (containerd's docs/hosts.md). For unknown images the response is 404, and containerd then asks the
 * original registry.
 */
export class Registry {
  readonly #manifests = new Map<string, Blob>();
  readonly #blobs = new Map<string, Blob>();
  #server: Server | undefined;

  constructor(images: Iterable<Image>) {
    for (const { reference, manifest, config, layers } of images) {
      const { host, repository, tag } = parseReference(reference);
      this.#manifests.set(`${host}/${repository}:${tag}`, manifest);
      this.#manifests.set(`${host}/${repository}:${manifest.digest}`, manifest);
      for (const part of [config, ...layers]) this.#blobs.set(part.digest, part);
    }
  }

  /** Returns the response to a GET request for a path with its query. */
  answer(url: string): RegistryAnswer {
    const { pathname, searchParams } = new URL(url, 'http://registry');
    if (pathname === '/v2/') return { status: 200, type: 'application/json', data: new TextEncoder().encode('{}') };
    const [, repository, kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
    const found =
      kind === 'manifests'
        ? this.#manifests.get(`${searchParams.get('ns') ?? ''}/${repository}:${reference}`)
        : this.#blobs.get(reference);
    if (found === undefined) {
      const errors = [{ code: kind === 'manifests' ? 'MANIFEST_UNKNOWN' : 'BLOB_UNKNOWN', message: 'not known' }];
      return { status: 404, type: 'application/json', data: new TextEncoder().encode(JSON.stringify({ errors })) };
    }
    const type = kind === 'manifests' ? MANIFEST_TYPE : 'application/octet-stream';
    return { status: 200, type, digest: found.digest, data: found.data };
  }

  /** Listens on the loopback interface. @returns the registry's URL */
  async start(): Promise<string> {
    const server = createServer((request, response) => this.#serve(request.method ?? '', request.url ?? '', response));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  #serve(method: string, url: string, response: ServerResponse): void {
    if (method !== 'GET' && method !== 'HEAD') {
      response.writeHead(405).end();
      return;
    }
    const { status, type, digest, data } = this.answer(url);
    response.writeHead(status, {
      'content-type': type,
      'content-length': data.length,
      'docker-distribution-api-version': 'registry/2.0',
      ...(digest !== undefined && { 'docker-content-digest': digest }),
    });
    response.end(method === 'HEAD' ? undefined : data);
  }
}
