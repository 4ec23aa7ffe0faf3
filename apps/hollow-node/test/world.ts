import { type Random, seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { RestClient, resources } from '@node-agent/kube-client';
import { SharedWatches } from '@node-agent/kubelet-assembly/cluster';
import type { Pod } from '@node-agent/pod-spec/api';
import { MetricsRegistry, silentLogger } from '@node-agent/telemetry';
import { Fleet } from '../src/fleet.ts';
import { HollowNode, type HollowNodeOptions } from '../src/hollow-node.ts';
import { type NodePlan, planNodes } from '../src/node-plan.ts';

const GI = 2 ** 30;

export const OPTIONS: HollowNodeOptions = {
  kubeletVersion: 'v1.36.3',
  runtime: {},
  size: { cpus: 4, memoryBytes: 16 * GI, storageBytes: 100 * GI },
  maxPods: 110,
  address: '192.0.2.10',
  labels: { purpose: 'load' },
  taints: [],
  clusterDns: ['10.96.0.10'],
  leaseDurationSeconds: 40,
};

/** Test environment: hollow nodes and the API server of their cluster, in memory and with one fake clock. */
export class World {
  readonly clock: FakeClock = new FakeClock();
  readonly random: Random = seededRandom(3);
  readonly api: FakeApiServer = new FakeApiServer(this);
  readonly client: RestClient = new RestClient({ transport: this.api, clock: this.clock });
  readonly plans: readonly NodePlan[];
  readonly fleet: Fleet<HollowNode>;
  readonly controller: AbortController = new AbortController();
  readonly #watches = new SharedWatches({ ...this, client: this.client });
  #ended: Promise<unknown> = Promise.resolve();

  constructor(nodes: number, options: Partial<HollowNodeOptions> = {}) {
    const { clock, random, client } = this;
    this.plans = planNodes({
      ...{ nodes, first: 0, namePrefix: 'hollow-', port: 0, podCidr: '10.128.0.0/9', maxPods: 110 },
    });
    const clients = { requests: client, events: client, heartbeats: client };
    this.fleet = new Fleet({
      clock,
      logger: silentLogger,
      make: (plan) =>
        new HollowNode(
          { clock, random, logger: silentLogger, metrics: new MetricsRegistry() },
          plan,
          { ...OPTIONS, ...options },
          { clients, watched: this.#watches.of(plan.name) },
        ),
    });
  }

  /** Starts all nodes. */
  start(): void {
    this.#ended = Promise.all([
      this.#watches.start(this.controller.signal),
      this.fleet.run(this.plans, 50, this.controller.signal),
    ]);
  }

  /** Stops all nodes, as SIGTERM does. */
  async stop(): Promise<void> {
    this.controller.abort(new Error('SIGTERM'));
    await this.clock.settle();
    await this.#ended;
  }

  /** Advances the time in steps of 100 ms. */
  async seconds(count: number): Promise<void> {
    for (let step = 0; step < count * 10; step++) await this.clock.advance(100);
  }

  /** Creates a pod that is bound to a node. */
  async createPod(name: string, nodeName: string, pod: Partial<Pod['spec']> = {}, annotations = {}): Promise<void> {
    await this.client.create(resources.pods, {
      metadata: { name, namespace: 'default', annotations },
      spec: {
        nodeName,
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'registry.example/app:1' }],
        ...pod,
      },
    });
  }

  async pod(name: string): Promise<Pod | undefined> {
    return this.client.get(resources.pods, { name, namespace: 'default' }).catch(() => undefined);
  }

  /** Returns the status of a node's Ready condition. */
  async ready(nodeName: string): Promise<string | undefined> {
    const { status } = await this.client.get(resources.nodes, { name: nodeName });
    return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  }
}
