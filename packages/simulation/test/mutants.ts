import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { FileSystem } from '@node-agent/host';
import type { PodSyncer } from '@node-agent/kubelet-core';
import { expect, test } from 'vitest';
import {
  allInvariants,
  type Decorations,
  generateScenario,
  type InvariantId,
  type PodPlan,
  type Scenario,
  simulate,
} from '../src/index.ts';

export type Cri = RuntimeService & ImageService;

/** Replaces some calls of the runtime. */
export function changed(cri: Cri, calls: Partial<Cri>): Cri {
  return new Proxy(cri, {
    get: (target, name) => Reflect.get(calls, name) ?? Reflect.get(target, name, target),
  });
}

/** Delays the creation of sandboxes while calls of one RPC are in progress. */
export function noSandboxDuring(rpc: 'pullImage' | 'execSync'): Decorations {
  return {
    cri: (cri) => {
      let calls: Promise<unknown> = Promise.resolve();
      const waitedFor = <T>(call: Promise<T>): Promise<T> => {
        calls = Promise.allSettled([calls, call]);
        return call;
      };
      return changed(cri, {
        ...(rpc === 'pullImage'
          ? { pullImage: (request, signal) => waitedFor(cri.pullImage(request, signal)) }
          : { execSync: (request, signal) => waitedFor(cri.execSync(request, signal)) }),
        runPodSandbox: async (request, signal) => {
          await calls;
          return cri.runPodSandbox(request, signal);
        },
      });
    },
  };
}

/** Replaces some operations of the file system. */
export function changedFiles(fs: FileSystem, operations: Partial<FileSystem>): FileSystem {
  return new Proxy(fs, {
    get: (target, name) => {
      const value: unknown = Reflect.get(operations, name) ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Replaces some operations of the pod worker. */
export function steps(change: (inner: PodSyncer) => Partial<PodSyncer>): Decorations {
  return { podSyncer: (inner) => ({ ...inner, ...change(inner) }) };
}

export const healthy: PodPlan = {
  name: 'p1',
  uid: 'u1',
  restartPolicy: 'Always',
  graceSeconds: 2,
  init: [],
  containers: [{ name: 'main', runs: [{}], version: 1 }],
};

export const twoContainers: PodPlan = {
  ...healthy,
  containers: [...healthy.containers, { name: 'two', runs: [{}], version: 1 }],
};

export const quietNode: Omit<Scenario, 'actions'> = {
  seed: 1,
  node: { backOff: { initialMs: 1000, maxMs: 10_000 }, events: true, latencies: true, http: false, httpDelayMs: 0 },
  faultsEndMs: 40_000,
  quietMs: 200_000,
};

/**
 * An invariant, a change that breaks it, and the scenario in which the violation must be detected. Default: the
 * scenario of one of the first seeds.
 */
export type Mutant = readonly [id: InvariantId, how: string, decorations: () => Decorations, scenario?: Scenario];

const SEEDS = 100;

/** Registers a test for each mutant: the change breaks the invariant, and without the change the invariant holds. */
export function seenBroken(mutants: readonly Mutant[]): void {
  for (const [id, how, decorations, scenario] of mutants) {
    test(`${id}: the violation is detected if ${how}`, async () => {
      const invariants = allInvariants.filter((invariant) => invariant.id === id);
      if (scenario !== undefined) expect((await simulate(scenario)).violation).toBeUndefined();
      for (let seed = 1; seed <= SEEDS; seed++) {
        const result = await simulate(scenario ?? generateScenario(seed), { decorations: decorations(), invariants });
        if (result.violation === undefined) {
          if (scenario !== undefined) break;
          continue;
        }
        expect(result.violation.invariant).toBe(id);
        return;
      }
      expect.fail(`no seed of ${SEEDS} shows that ${id} is broken`);
    }, 120_000);
  }
}
