import type { Lease, Node } from '../src/node.ts';
import type { LeaseClient, NodeClient } from '../src/ports.ts';

type Json = Record<string, unknown>;

/** An error with a `code` as kube-client's errors have: the server's reason. */
export class ApiError extends Error {
  readonly code: string;
  constructor(code: string) {
    super(`the server answers ${code}`);
    this.code = code;
  }
}

/**
 * An in-memory API of nodes and leases with strategic merge patches of the status, optimistic concurrency, and faults
 * that a test injects per method.
 */
export class FakeApi implements NodeClient, LeaseClient {
  readonly nodes: Map<string, Node> = new Map();
  readonly leases: Map<string, Lease> = new Map();
  readonly calls: string[] = [];
  readonly patches: Json[] = [];
  /**
   * Called before each request. The request waits for the returned promise: a rejection fails the request, and a
   * pending promise makes it hang.
   */
  fault: (method: string) => Promise<void> | undefined = () => undefined;
  /** The result of `getNode` if a cached node is allowed. */
  cached: Node | undefined;
  #version = 0;

  async getNode(name: string, { fresh }: { readonly fresh: boolean }): Promise<Node> {
    await this.#enter(fresh ? 'getNode' : 'getCachedNode');
    if (!fresh && this.cached !== undefined) return this.cached;
    return this.#found(this.nodes.get(name));
  }

  async createNode(node: Node): Promise<Node> {
    await this.#enter('createNode');
    const name = node.metadata.name ?? '';
    if (this.nodes.has(name)) throw new ApiError('AlreadyExists');
    return this.putNode({ ...node, metadata: { ...node.metadata, uid: `uid-${this.#version + 1}` } });
  }

  async patchNodeStatus(name: string, patch: object): Promise<Node> {
    await this.#enter('patchNodeStatus');
    const node = this.#found(this.nodes.get(name));
    const wanted = patch as { readonly metadata?: { readonly uid?: string } };
    if (wanted.metadata?.uid !== undefined && wanted.metadata.uid !== node.metadata.uid) throw new ApiError('Conflict');
    this.patches.push(structuredClone(patch) as Json);
    return this.putNode(applyPatch(node as unknown as Json, patch as Json) as unknown as Node);
  }

  async getLease(name: string): Promise<Lease> {
    await this.#enter('getLease');
    return this.#found(this.leases.get(name));
  }

  async createLease(lease: Lease): Promise<Lease> {
    await this.#enter('createLease');
    if (this.leases.has(lease.metadata.name ?? '')) throw new ApiError('AlreadyExists');
    return this.putLease(lease);
  }

  async updateLease(lease: Lease): Promise<Lease> {
    await this.#enter('updateLease');
    const current = this.#found(this.leases.get(lease.metadata.name ?? ''));
    if (current.metadata.resourceVersion !== lease.metadata.resourceVersion) throw new ApiError('Conflict');
    return this.putLease(lease);
  }

  /** Stores a node with a new resource version, as another client would. */
  putNode(node: Node): Node {
    const stored: Node = { ...node, metadata: { ...node.metadata, resourceVersion: `${++this.#version}` } };
    this.nodes.set(node.metadata.name ?? '', stored);
    return stored;
  }

  putLease(lease: Lease): Lease {
    const stored: Lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: `${++this.#version}` } };
    this.leases.set(lease.metadata.name ?? '', stored);
    return stored;
  }

  count(method: string): number {
    return this.calls.filter((call) => call === method).length;
  }

  async #enter(method: string): Promise<void> {
    this.calls.push(method);
    await this.fault(method);
  }

  #found<T>(object: T | undefined): T {
    if (object === undefined) throw new ApiError('NotFound');
    return object;
  }
}

/**
 * Applies a strategic merge patch for a node's metadata and status: lists of objects with a type merge by type.
 */
export function applyPatch(object: Json, patch: Json): Json {
  const result: Json = { ...object };
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$setElementOrder/')) continue;
    const before = object[key];
    if (value === null) delete result[key];
    else if (Array.isArray(value)) result[key] = mergeList(key, Array.isArray(before) ? before : [], value);
    else if (typeof value === 'object') result[key] = applyPatch((before ?? {}) as Json, value as Json);
    else result[key] = value;
  }
  return result;
}

function mergeList(key: string, before: readonly Json[], patch: readonly Json[]): readonly unknown[] {
  if (key !== 'conditions' && key !== 'addresses') return patch;
  if (patch.some(({ $patch }) => $patch === 'replace')) return patch.filter(({ $patch }) => $patch === undefined);
  const merged = before.map((item) => {
    const change = patch.find(({ type }) => type === item.type);
    return change === undefined ? item : applyPatch(item, change);
  });
  return [...merged, ...patch.filter(({ type }) => !before.some((item) => item.type === type))];
}
