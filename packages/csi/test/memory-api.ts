import type { CSINode } from '@node-agent/pod-spec/api';
import type { CsiNodeApi, NodeMetadata } from '../src/index.ts';

/** An API server with one Node and its CSINode. */
export class MemoryApi implements CsiNodeApi {
  node: NodeMetadata = { uid: 'uid-1' };
  csiNode: CSINode | undefined;
  /** Calls received, in order. */
  readonly calls: string[] = [];
  /** Called before each call; an error makes the call fail. */
  before: (call: string) => void | Promise<void> = () => {};
  #version = 0;

  /** Names of the drivers in CSINode. */
  get drivers(): readonly string[] | undefined {
    return this.csiNode?.spec.drivers.map(({ name }) => name);
  }

  count(call: string): number {
    return this.calls.filter((one) => one === call).length;
  }

  async getNode(): Promise<{ readonly metadata: NodeMetadata }> {
    await this.#receive('getNode');
    return { metadata: this.node };
  }

  async patchNode(patch: Parameters<CsiNodeApi['patchNode']>[0]): Promise<void> {
    await this.#receive('patchNode');
    const { uid, labels, annotations } = patch.metadata;
    if (uid !== this.node.uid) throw new Error('conflict: the uid differs');
    const merged = Object.entries({ ...this.node.annotations, ...annotations }).filter(([, value]) => value !== null);
    this.node = {
      ...this.node,
      labels: { ...this.node.labels, ...labels },
      annotations: Object.fromEntries(merged) as Record<string, string>,
    };
  }

  async getCsiNode(): Promise<CSINode | undefined> {
    await this.#receive('getCsiNode');
    return this.csiNode;
  }

  async createCsiNode(csiNode: CSINode): Promise<void> {
    await this.#receive('createCsiNode');
    if (this.csiNode !== undefined) throw new Error('already exists');
    this.#store(csiNode);
  }

  async updateCsiNode(csiNode: CSINode): Promise<void> {
    await this.#receive('updateCsiNode');
    if (csiNode.metadata.resourceVersion !== this.csiNode?.metadata.resourceVersion) throw new Error('conflict');
    this.#store(csiNode);
  }

  async deleteCsiNode(): Promise<void> {
    await this.#receive('deleteCsiNode');
    this.csiNode = undefined;
  }

  /** Changes CSINode as another client would. */
  touch(): void {
    if (this.csiNode !== undefined) this.#store(this.csiNode);
  }

  #store(csiNode: CSINode): void {
    const resourceVersion = String(++this.#version);
    this.csiNode = { ...csiNode, metadata: { ...csiNode.metadata, resourceVersion } };
  }

  async #receive(call: string): Promise<void> {
    this.calls.push(call);
    await this.before(call);
  }
}
