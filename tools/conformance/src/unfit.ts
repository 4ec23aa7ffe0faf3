import { run } from './run.ts';
import type { SpecResult } from './specs.ts';

/** What specs ask of a machine and not every machine has. */
export interface MachineFacts {
  /** Whether its kernel makes links of the type `dummy`. */
  readonly dummyLinks: boolean;
}

interface Rule {
  readonly spec: RegExp;
  readonly reason: string;
  holds(machine: MachineFacts): boolean;
}

/**
 * Specs that no kubelet can pass: each with what it asks of a machine, and whether this one lacks it. A comparison proves them: one
 * that passes with another kubelet on the same machine counts as failed all the same.
 */
const RULES: readonly Rule[] = [
  {
    spec: /PrivilegedPod .*should enable privileged commands/,
    reason: 'the kernel has no `dummy` links',
    holds: ({ dummyLinks }) => !dummyLinks,
  },
  {
    // `PrePullAllImages` of test/e2e_node/image_list.go, before or after them.
    spec: /ImageGarbageCollect|ImageGCNoEviction|ImageGCTerminatedPodsContainersCleanup|SystemNodeCriticalPod/,
    reason: "it pulls an image by its digest, which only upstream's own has",
    holds: () => true,
  },
];

/** Why a spec cannot pass on a machine whatever the kubelet; `undefined` where it can. */
export function unfitReason({ name }: Pick<SpecResult, 'name'>, machine: MachineFacts): string | undefined {
  return RULES.find(({ spec, holds }) => spec.test(name) && holds(machine))?.reason;
}

/** Looks at this machine, in a network namespace of its own. */
export async function machineFacts(): Promise<MachineFacts> {
  const add = run('unshare', ['--net', 'ip', 'link', 'add', 'dummy0', 'type', 'dummy']);
  return {
    dummyLinks: await add.then(
      () => true,
      () => false,
    ),
  };
}
