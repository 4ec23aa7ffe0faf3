import assert from 'node:assert/strict';
import { at, isObject, type JsonObject, listAt, textAt } from '../core/json.ts';
import type { HttpTransport } from '../transport.ts';
import { ListeningWatch } from './listening-watch.ts';

/** Options of the compliance suite: access to the server under test. */
export interface ComplianceOptions {
  /** Connects to the server as a user who has all permissions. */
  readonly connect: () => Promise<HttpTransport>;
  /** Waits for `ms` milliseconds of the server's time. */
  readonly wait: (ms: number) => Promise<void>;
  /** Namespace of the test objects. The suite creates the namespace if it does not exist. Default: `api-compliance`. */
  readonly namespace?: string;
  /**
   * Compacts the server's store, so that old resource versions expire. If absent, the cases that need expired versions
   * are skipped.
   */
  readonly compact?: () => Promise<void>;
}

/** The part of the test runner's context that a case uses. */
export interface CaseContext {
  /** Ends the case as skipped with a reason. Must throw, so that the case does not continue. */
  skip(reason: string): never;
}

/** One case of the suite. */
export interface ComplianceCase {
  readonly name: string;
  /** Runs the case. Rejects if the server does not comply. */
  run(context: CaseContext): Promise<void>;
}

/** Name of a compliance case, and the function that runs the case. */
export type Examination = readonly [name: string, examine: (scene: Scene) => Promise<void>];

/** A complete response of the server under test. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** The body as JSON, or an empty object if the body is not a JSON object. */
  readonly body: JsonObject;
}

/** A request body with its own media type and the accepted media type of the response. */
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

/** Helpers of a case. Records the created objects for later removal. */
export class Scene {
  readonly options: ComplianceOptions;
  readonly skip: (reason: string) => never;
  /** Unique id of the case: part of every object name, and the value of the label `case`. */
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

  /** Creates the namespace and its default service account if they do not exist. */
  async prepare(): Promise<void> {
    const made = await this.send('POST', '/api/v1/namespaces', { body: { metadata: { name: this.namespace } } });
    assert.ok([201, 409].includes(made.status), made.text);
    const account = await this.send('POST', this.path('serviceaccounts'), { body: { metadata: { name: 'default' } } });
    assert.ok([201, 409].includes(account.status), account.text);
  }

  /** Stops every watch and deletes every object that the case created. */
  async clear(): Promise<void> {
    for (const watch of this.#watches) await watch.stop();
    for (const path of this.#made) {
      await this.send('PATCH', path, { type: MERGE_PATCH, body: { metadata: { finalizers: null } } });
      await this.send('DELETE', path, { body: { gracePeriodSeconds: 0 } });
    }
  }

  /** Returns the path of a collection of `v1`, or of an object in it. */
  path(plural: string, name: string = '', subresource: string = ''): string {
    const parts = [`/api/v1/namespaces/${this.namespace}/${plural}`, name, subresource];
    return parts.filter((part) => part !== '').join('/');
  }

  /** Returns a name that no other case uses. */
  name(): string {
    this.#count++;
    return `${this.id}-${this.#count}`;
  }

  /** Records the object at this path for deletion at the end of the case. */
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

  /**
   * Sends a request that must succeed.
   * @returns the body of the response
   */
  async ok(method: string, path: string, sent: Sent = {}): Promise<JsonObject> {
    const { status, text, body } = await this.send(method, path, sent);
    assert.ok(status >= 200 && status < 300, `${method} ${path}: ${status}: ${text}`);
    return body;
  }

  /**
   * Sends a request that must be rejected with this code and reason.
   * @returns the Status
   */
  async refused(code: number, reason: string, method: string, path: string, sent: Sent = {}): Promise<JsonObject> {
    const { status, text, body } = await this.send(method, path, sent);
    assert.equal(status, code, `${method} ${path}: ${status}: ${text}`);
    assert.deepEqual([body.kind, body.apiVersion, body.status, body.code], ['Status', 'v1', 'Failure', code], text);
    assert.equal(body.reason ?? '', reason, text);
    return body;
  }

  /** Creates an object in a collection. */
  async create(collection: string, object: JsonObject): Promise<JsonObject> {
    const made = await this.ok('POST', collection, { body: object });
    this.remember(`${collection}/${textAt(made, 'metadata', 'name')}`);
    return made;
  }

  /** Creates a config map with data. */
  async configMap(
    data: JsonObject = { a: '1' },
    metadata: JsonObject = {},
  ): Promise<{ path: string; object: JsonObject }> {
    const name = this.name();
    const labels = { case: this.id, ...(isObject(metadata.labels) ? metadata.labels : {}) };
    const object = await this.create(this.path('configmaps'), { metadata: { name, ...metadata, labels }, data });
    return { path: this.path('configmaps', name), object };
  }

  /** Creates a pod with one container and additional fields in its spec. */
  async pod(
    spec: JsonObject = {},
    metadata: JsonObject = {},
  ): Promise<{ path: string; name: string; object: JsonObject }> {
    const name = this.name();
    const object = await this.create(this.path('pods'), this.podBody(name, spec, metadata));
    return { path: this.path('pods', name), name, object };
  }

  /** The pod names a scheduler that does not exist, so that the server's own scheduler does not write to the pod. */
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

  /** Creates a node. */
  async node(spec: JsonObject = {}): Promise<{ path: string; name: string; object: JsonObject }> {
    const name = this.name();
    const object = await this.create('/api/v1/nodes', { metadata: { name, labels: { case: this.id } }, spec });
    return { path: `/api/v1/nodes/${name}`, name, object };
  }

  /** Watches a collection, given its path and query. */
  async watch(path: string): Promise<ListeningWatch> {
    const separator = path.includes('?') ? '&' : '?';
    const watch = new ListeningWatch(this.#transport, `${path}${separator}watch=true`, this.options.wait);
    this.#watches.push(watch);
    await watch.start();
    return watch;
  }

  /** Calls `ask` repeatedly until its result is not `undefined`. */
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
    // The body is plain text, for example the response of a health check.
    return {};
  }
}

/** Returns the resource version of an object or a list, which must be present. */
export function versionOf(object: unknown): string {
  const version = textAt(object, 'metadata', 'resourceVersion');
  assert.notEqual(version, '', 'resource version must be present');
  return version;
}

/** Returns the names of a list's items, in order. */
export function namesOf(list: unknown): string[] {
  return listAt(list, 'items').map((item) => textAt(item, 'metadata', 'name'));
}

/** Returns the reason and field of each cause of a Status. */
export function causesOf(status: JsonObject): string[] {
  return listAt(status, 'details', 'causes').map((cause) => `${textAt(cause, 'reason')} ${textAt(cause, 'field')}`);
}

/** Returns whether a value is present at a path. */
export function has(object: unknown, ...path: readonly string[]): boolean {
  return at(object, ...path) !== undefined;
}
