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

/** The runtime with some of its calls changed. */
export function changed(cri: Cri, calls: Partial<Cri>): Cri {
  return new Proxy(cri, {
    get: (target, name) => Reflect.get(calls, name) ?? Reflect.get(target, name, target),
  });
}

/** A runtime that is asked for no sandbox while calls of one kind are under way. */
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

/** The files with some operations changed. */
export function changedFiles(fs: FileSystem, operations: Partial<FileSystem>): FileSystem {
  return new Proxy(fs, {
    get: (target, name) => {
      const value: unknown = Reflect.get(operations, name) ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The steps with some of them changed. */
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

/** A rule, how it is broken, and where that is to be seen: in one of the first seeds where nothing is said. */
export type Mutant = readonly [id: InvariantId, how: string, decorations: () => Decorations, scenario?: Scenario];

const SEEDS = 100;

/** Tests that each is seen to be broken, and that nothing is where the rule is not. */
export function seenBroken(mutants: readonly Mutant[]): void {
  for (const [id, how, decorations, scenario] of mutants) {
    test(`${id}: is seen to be broken where ${how}`, async () => {
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
