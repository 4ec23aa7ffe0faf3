import { setImmediate } from 'node:timers/promises';
import { FakeClock } from '@node-agent/async/testing';
import type { AdmitResult } from '@node-agent/contracts';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Pod } from '@node-agent/pod-spec';
import { MetricsRegistry } from '@node-agent/telemetry';
import {
  ContainerResources,
  type ContainerResourcesComponents,
  type ContainerResourcesOptions,
  type RunningContainer,
} from '../src/index.ts';
import { machineOf } from './builders.ts';

export const ROOT = '/var/lib/kubelet';

/** A node with a kubelet that can be killed and started again. */
export class TestNode {
  readonly fs: MemoryFileSystem = new MemoryFileSystem();
  readonly clock: FakeClock = new FakeClock();
  readonly metrics: MetricsRegistry = new MetricsRegistry();
  active: Pod[] = [];
  readonly running: Map<string, readonly RunningContainer[]> = new Map();
  /** UIDs of pods that are no longer active, but whose containers may still run. */
  readonly ending: Set<string> = new Set();
  /** UIDs of pods whose containers are known to have stopped before all sources were ready. */
  readonly finished: Set<string> = new Set();
  readonly updates: string[] = [];
  readonly waits: string[] = [];
  sourcesReady = true;
  resources: ContainerResources;
  readonly #options: Omit<ContainerResourcesOptions, 'directory'>;
  readonly #components: Partial<ContainerResourcesComponents>;

  constructor(
    options: Omit<ContainerResourcesOptions, 'directory'> = {},
    components: Partial<ContainerResourcesComponents> = {},
  ) {
    this.#options = { machine: machineOf(), cpuManagerPolicy: 'static', nodeReservation: { cpu: '1' }, ...options };
    this.#components = components;
    this.resources = this.restarted();
  }

  /** Starts the kubelet again: everything that is not on disk is lost. */
  restarted(
    options: Partial<ContainerResourcesOptions> = {},
    components: Partial<ContainerResourcesComponents> = {},
  ): ContainerResources {
    this.resources = new ContainerResources(
      {
        fs: this.fs,
        clock: this.clock,
        metrics: this.metrics,
        pods: {
          active: () => this.active,
          mayRun: (uid) => this.ending.has(uid) || (!this.sourcesReady && !this.finished.has(uid)),
          sourcesReady: () => this.sourcesReady,
        },
        containers: {
          running: ({ metadata }) => this.running.get(metadata.uid) ?? [],
          runningInOtherPods: (activeUids) =>
            [...this.running]
              .filter(([podUid]) => !activeUids.has(podUid))
              .flatMap(([podUid, containers]) => containers.map((one) => ({ podUid, ...one }))),
          updateContainerCpuset: async (id, cpus) => {
            this.updates.push(`${id} ${cpus}`);
          },
        },
        noted: (wait, work) => {
          this.waits.push(`${wait.podUid}: ${wait.what}`);
          return work();
        },
        ...this.#components,
        ...components,
      },
      { directory: ROOT, ...this.#options, ...options },
    );
    return this.resources;
  }

  /** Requests the admission of a pod. An admitted pod becomes active. */
  async admit(pod: Pod, signal: AbortSignal = new AbortController().signal): Promise<AdmitResult> {
    const verdict = await this.resources.admit(pod, this.active, signal);
    if (verdict.admit) {
      this.active = [...this.active.filter(({ metadata }) => metadata.uid !== pod.metadata.uid), pod];
      this.resources.admitted(pod);
    }
    return verdict;
  }

  /** Removes a pod and its containers, as when the pod is gone. */
  remove(uid: string): void {
    this.active = this.active.filter(({ metadata }) => metadata.uid !== uid);
    this.running.delete(uid);
    this.ending.delete(uid);
  }

  cpus(uid: string, container = 'main'): string {
    return this.resources.exclusiveCpusOf(uid, container).join();
  }

  async file(name: string): Promise<string> {
    return new TextDecoder().decode(await this.fs.readFile(`${ROOT}/${name}`));
  }
}

/** Lets pending promises settle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await setImmediate();
}
