import { checkComponents } from '@node-agent/async';
import { KubeError } from './errors.ts';
import { isRecord } from './json.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import type { RestClient } from './rest-client.ts';

/** The response of `/version`. */
export interface ServerVersion {
  readonly gitVersion: string;
  readonly major: number;
  readonly minor: number;
}

/** Finds out which resources an API server serves, so that a program can use servers of several versions. */
export class Discovery {
  readonly #client: Pick<RestClient, 'getPath'>;
  readonly #served = new Map<string, Promise<ReadonlySet<string>>>();

  constructor(components: { readonly client: Pick<RestClient, 'getPath'> }) {
    checkComponents('Discovery', components, { client: ['getPath'] });
    this.#client = components.client;
  }

  /** Returns the server's version. @throws KubeError */
  async serverVersion(signal?: AbortSignal): Promise<ServerVersion> {
    const version = await this.#client.getPath('/version', signal);
    const { gitVersion, major, minor } = isRecord(version) ? version : {};
    if (typeof gitVersion !== 'string') {
      throw new KubeError({ code: 'InvalidResponse', message: '/version: the response has no gitVersion' });
    }
    // Some providers append a plus sign to the minor version.
    return { gitVersion, major: Number.parseInt(String(major), 10), minor: Number.parseInt(String(minor), 10) };
  }

  /**
   * Returns the first of these resources that the server serves, or `undefined` if it serves none. Pass one kind in
   * several API versions, the preferred one first. Results are cached until {@link forget}. @throws KubeError
   */
  async choose<R extends Resource<unknown>>(candidates: readonly R[], signal?: AbortSignal): Promise<R | undefined> {
    for (const candidate of candidates) {
      if ((await this.#resourcesOf(candidate, signal)).has(candidate.plural)) return candidate;
    }
    return undefined;
  }

  /** Clears the cache, for example because the server was upgraded or replaced. */
  forget(): void {
    this.#served.clear();
  }

  async #resourcesOf(resource: Resource<unknown>, signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
    const path = `/${resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(resource)}`;
    const known = this.#served.get(path) ?? this.#ask(path, signal);
    this.#served.set(path, known);
    try {
      return await known;
    } catch (error) {
      this.#served.delete(path);
      throw error;
    }
  }

  async #ask(path: string, signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
    try {
      const list = await this.#client.getPath(path, signal);
      const entries = isRecord(list) && Array.isArray(list.resources) ? list.resources : [];
      return new Set(entries.filter(isRecord).map(({ name }) => String(name)));
    } catch (error) {
      if (KubeError.from(error).code === 'NotFound') return new Set();
      throw error;
    }
  }
}
