import { setImmediate } from 'node:timers/promises';
import { FakeClock } from '@node-agent/async/testing';
import { type AlignedDevices, ContainerResources, type MachineTopology } from '@node-agent/cm-resources';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Container, Pod } from '@node-agent/pod-spec';
import type { Answer, Block, DeviceHints, NodeConfig, StateTexts, Step } from './sequence.ts';

const ROOT = '/var/lib/kubelet';
const FILES = ['cpu_manager_state', 'memory_manager_state'] as const;

/** A node without a runtime, on which package `cm-resources` allocates CPUs and memory to pods. */
export class OurNode {
  readonly #machine: MachineTopology;
  readonly #config: NodeConfig;
  readonly #fs = new MemoryFileSystem();
  readonly #devices = new Map<string, DeviceHints>();
  #resources: ContainerResources | undefined;
  #active: readonly Pod[] = [];

  constructor(machine: MachineTopology, config: NodeConfig) {
    this.#machine = machine;
    this.#config = config;
  }

  /** Starts the resource managers, which know only the state files on disk. */
  async start(): Promise<Answer> {
    try {
      this.#resources = this.#create();
      await this.#resources.load();
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
    return await this.#state({});
  }

  async apply(step: Step): Promise<Answer> {
    if (step.op === 'admit') return await this.#admit(step.pod, step.devices);
    if (step.op === 'remove') {
      this.#active = this.#active.filter(({ metadata }) => metadata.uid !== step.uid);
    } else if (step.op === 'start') {
      const pod = this.#active.find(({ metadata }) => metadata.uid === step.uid);
      const container = pod && containersOf(pod).find(({ name }) => name === step.container);
      if (pod && container) this.#resources?.starting(pod, container, `${step.uid}/${step.container}`, '');
    } else {
      await this.#replaceFiles(step.files ?? {});
      return await this.start();
    }
    return await this.#state({});
  }

  async #admit(pod: Pod, devices: DeviceHints): Promise<Answer> {
    const { uid } = pod.metadata;
    this.#active = this.#active.filter(({ metadata }) => metadata.uid !== uid);
    this.#devices.set(uid, devices);
    const verdict = await this.#resources?.admit(pod, this.#active, AbortSignal.timeout(60_000));
    if (verdict?.admit !== true) return await this.#state({ admit: false, ...verdict });
    this.#active = [...this.#active, pod];
    this.#resources?.admitted(pod);
    return await this.#state({ admit: true });
  }

  #create(): ContainerResources {
    const { featureGates, ...config } = this.#config;
    const { CPUManagerPolicyAlphaOptions: alpha = false, CPUManagerPolicyBetaOptions: beta = true } = featureGates;
    const podLevelResourceManagers = featureGates.PodLevelResourceManagers ?? false;
    const pods = { active: () => this.#active, sourcesReady: () => true };
    return new ContainerResources(
      { fs: this.#fs, clock: new FakeClock(), pods, devices: this.#deviceHints() },
      { directory: ROOT, machine: this.#machine, ...config, podLevelResourceManagers, cpuOptionGates: { alpha, beta } },
    );
  }

  #deviceHints(): AlignedDevices {
    return {
      load: async () => {},
      hints: ({ metadata }, container) =>
        new Map(Object.entries(this.#devices.get(metadata.uid)?.[container?.name ?? ''] ?? {})),
      begin() {},
      allocate: async () => {},
      giveUp: () => {},
      stored: async () => {},
      admitted() {},
      release() {},
    };
  }

  async #replaceFiles(files: StateTexts): Promise<void> {
    for (const [name, text] of Object.entries(files)) await this.#fs.writeFileAtomic(`${ROOT}/${name}`, text);
  }

  /**
   * Frees the resources of pods that are gone, by admitting a pod without resources. Returns `answer` with a
   * description of the node.
   */
  async #state(answer: Answer): Promise<Answer> {
    const resources = this.#resources;
    if (resources === undefined) throw new Error('the node was not started');
    await resources.admit(nobody, this.#active, AbortSignal.timeout(60_000));
    resources.release(nobody);
    // Waits for the state files: they are written in the background when resources are freed.
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    const files: Record<string, string> = {};
    for (const name of FILES) files[name] = new TextDecoder().decode(await this.#fs.readFile(`${ROOT}/${name}`));
    const all = this.#active.flatMap((pod) => containersOf(pod).map(({ name }) => [pod.metadata.uid, name] as const));
    const each = <T>(value: (uid: string, name: string) => T): Record<string, T> =>
      Object.fromEntries(all.map(([uid, name]) => [`${uid}/${name}`, value(uid, name)]));
    return {
      ...answer,
      files,
      affinity: each((uid, name) => resources.placementOf(uid, name).cpus),
      exclusive: each((uid, name) => resources.exclusiveCpusOf(uid, name)),
      memory: each((uid, name) => sorted(resources.memoryOf(uid, name))),
      allocatableCPUs: resources.allocatableCpus(),
      allocatableMemory: sorted(resources.allocatableMemory()),
    };
  }
}

/**
 * A pod that gets no CPUs and no memory. The pod requests a device, so that its admission runs through the resource
 * managers.
 */
const nobody: Pod = {
  metadata: { name: 'nobody', namespace: 'default', uid: 'nobody' },
  spec: { containers: [{ name: 'main', image: 'image', resources: { limits: { 'example.com/none': '1' } } }] },
};

function containersOf({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function sorted(blocks: readonly Block[]): readonly Block[] {
  return [...blocks].sort((a, b) =>
    a.resource === b.resource ? compareText(`${a.nodes}`, `${b.nodes}`) : compareText(a.resource, b.resource),
  );
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
