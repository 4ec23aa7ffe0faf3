import assert from 'node:assert/strict';
import { at, isObject, type JsonObject, listAt, textAt } from '../core/json.ts';
import type { HttpTransport } from '../transport.ts';
import { ListeningWatch } from './listening-watch.ts';

/** What the suite needs of the server that it examines. */
export interface ComplianceOptions {
  /** Reaches the server as somebody who may do everything. */
  readonly connect: () => Promise<HttpTransport>;
  /** Lets `ms` milliseconds of the server's time pass. */
  readonly wait: (ms: number) => Promise<void>;
  /** The namespace that objects are made in; it is made where it is not there. `api-compliance` by default. */
  readonly namespace?: string;
  /** Has the server forget its past, so that old resource versions expire; the case about that is skipped where absent. */
  readonly compact?: () => Promise<void>;
}

/** What a case gets from the test runner. */
export interface CaseContext {
  /** Ends the case as skipped, with the reason; must throw. */
  skip(reason: string): never;
}

/** One examination. */
export interface ComplianceCase {
  readonly name: string;
  /** Rejects where the server does not comply. */
  run(context: CaseContext): Promise<void>;
}

/** An examination, given a scene. */
export type Examination = readonly [name: string, examine: (scene: Scene) => Promise<void>];

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** The JSON of the body; an empty object where it is none. */
  readonly body: JsonObject;
}

/** A body, and what it says it is. */
export interface Sent {
  readonly type?: string;
  readonly accept?: string;
  readonly body?: unknown;
}

const POLL_MS = 20;
const PATIENCE_MS = 15_000;

export const JSON_PATCH: string = 'application/json-patch+json';
export const MERGE_PATCH: string = 'application/merge-patch+json';
export const STRATEGIC_MERGE: string = 'application/strategic-merge-patch+json';
export const APPLY: string = 'application/apply-patch+yaml';

/** What a case works with; it takes away what was made. */
export class Scene {
  readonly options: ComplianceOptions;
  readonly skip: (reason: string) => never;
  /** Of the case alone: part of every name, and the value of the label `case`. */
  readonly id: string;
  readonly namespace: string;
  readonly #transport: HttpTransport;
  readonly #made = new Set<string>();
  readonly #watches: ListeningWatch[] = [];
  #count = 0;

  constructor(options: ComplianceOptions, transport: HttpTransport, id: string, context: CaseContext) {
    this.options = options;
    this.id = id;
    this.namespace = options.namespace ?? 'api-compliance';
    this.skip = (reason) => context.skip(reason);
    this.#transport = transport;
  }

  /** The namespace is there, and its default service account. */
  async prepare(): Promise<void> {
    const made = await this.send('POST', '/api/v1/namespaces', { body: { metadata: { name: this.namespace } } });
    assert.ok([201, 409].includes(made.status), made.text);
    const account = await this.send('POST', this.path('serviceaccounts'), { body: { metadata: { name: 'default' } } });
    assert.ok([201, 409].includes(account.status), account.text);
  }

  /** Every watch ends, and every object that the case made is gone. */
  async clear(): Promise<void> {
    for (const watch of this.#watches) await watch.stop();
    for (const path of this.#made) {
      await this.send('PATCH', path, { type: MERGE_PATCH, body: { metadata: { finalizers: null } } });
      await this.send('DELETE', path, { body: { gracePeriodSeconds: 0 } });
    }
  }

  /** The path of a collection of `v1`, or of an object in it. */
  path(plural: string, name: string = '', subresource: string = ''): string {
    const parts = [`/api/v1/namespaces/${this.namespace}/${plural}`, name, subresource];
    return parts.filter((part) => part !== '').join('/');
  }

  /** A name that no other case uses. */
  name(): string {
    this.#count++;
    return `${this.id}-${this.#count}`;
  }

  /** The object at this path is taken away in the end. */
  remember(path: string): void {
    this.#made.add(path);
  }

  async send(method: string, path: string, { type, accept, body }: Sent = {}): Promise<Answer> {
    const headers = {
      accept: accept ?? 'application/json',
      'user-agent': 'compliance/1',
      ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await this.#transport.request({
      method,
      path,
      headers,
      ...(body === undefined ? {} : { body: text }),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const said = Buffer.concat(chunks).toString();
    return { status: response.status, headers: response.headers, text: said, body: parsed(said) };
  }

  /** The body of an answer that must be a success. */
  async ok(method: string, path: string, sent: Sent = {}): Promise<JsonObject> {
    const { status, text, body } = await this.send(method, path, sent);
    assert.ok(status >= 200 && status < 300, `${method} ${path}: ${status}: ${text}`);
    return body;
  }

  /** The Status of a request that must be refused with this code and reason. */
  async refused(code: number, reason: string, method: string, path: string, sent: Sent = {}): Promise<JsonObject> {
    const { status, text, body } = await this.send(method, path, sent);
    assert.equal(status, code, `${method} ${path}: ${status}: ${text}`);
    assert.deepEqual([body.kind, body.apiVersion, body.status, body.code], ['Status', 'v1', 'Failure', code], text);
    assert.equal(body.reason ?? '', reason, text);
    return body;
  }

  /** Makes an object in a collection. */
  async create(collection: string, object: JsonObject): Promise<JsonObject> {
    const made = await this.ok('POST', collection, { body: object });
    this.remember(`${collection}/${textAt(made, 'metadata', 'name')}`);
    return made;
  }

  /** Makes a config map with data. */
  async configMap(
    data: JsonObject = { a: '1' },
    metadata: JsonObject = {},
  ): Promise<{ path: string; object: JsonObject }> {
    const name = this.name();
    const labels = { case: this.id, ...(isObject(metadata.labels) ? metadata.labels : {}) };
    const object = await this.create(this.path('configmaps'), { metadata: { name, ...metadata, labels }, data });
    return { path: this.path('configmaps', name), object };
  }

  /** Makes a pod of one container, with more in its spec. */
  async pod(
    spec: JsonObject = {},
    metadata: JsonObject = {},
  ): Promise<{ path: string; name: string; object: JsonObject }> {
    const name = this.name();
    const object = await this.create(this.path('pods'), this.podBody(name, spec, metadata));
    return { path: this.path('pods', name), name, object };
  }

  /** Of a scheduler that does not exist: the server's own would write to it. */
  podBody(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
    const labels = { case: this.id, ...(isObject(metadata.labels) ? metadata.labels : {}) };
    return {
      metadata: { name, ...metadata, labels },
      spec: {
        containers: [{ name: 'main', image: 'busybox' }],
        automountServiceAccountToken: false,
        schedulerName: 'none',
        ...spec,
      },
    };
  }

  /** Makes a node. */
  async node(spec: JsonObject = {}): Promise<{ path: string; name: string; object: JsonObject }> {
    const name = this.name();
    const object = await this.create('/api/v1/nodes', { metadata: { name, labels: { case: this.id } }, spec });
    return { path: `/api/v1/nodes/${name}`, name, object };
  }

  /** Watches a collection, by its path and query. */
  async watch(path: string): Promise<ListeningWatch> {
    const separator = path.includes('?') ? '&' : '?';
    const watch = new ListeningWatch(this.#transport, `${path}${separator}watch=true`, this.options.wait);
    this.#watches.push(watch);
    await watch.start();
    return watch;
  }

  /** Asks until there is an answer. */
  async eventually<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
    for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await this.options.wait(POLL_MS);
    }
    throw new assert.AssertionError({ message: `waited ${PATIENCE_MS} ms in vain until ${what}` });
  }
}

function parsed(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    // A plain text is what health checks answer with.
    return {};
  }
}

/** The resource version of an object or a list. */
export function versionOf(object: unknown): string {
  const version = textAt(object, 'metadata', 'resourceVersion');
  assert.notEqual(version, '', 'there is no resource version');
  return version;
}

/** The names of a list's items, in its order. */
export function namesOf(list: unknown): string[] {
  return listAt(list, 'items').map((item) => textAt(item, 'metadata', 'name'));
}

/** The fields that the causes of a Status name. */
export function causesOf(status: JsonObject): string[] {
  return listAt(status, 'details', 'causes').map((cause) => `${textAt(cause, 'reason')} ${textAt(cause, 'field')}`);
}

/** Whether there is anything at a path. */
export function has(object: unknown, ...path: readonly string[]): boolean {
  return at(object, ...path) !== undefined;
}
