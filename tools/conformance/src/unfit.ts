import { readFile } from 'node:fs/promises';
import { run } from './run.ts';
import type { SpecResult } from './specs.ts';

/** What specs ask of a machine and not every machine has. */
export interface MachineFacts {
  /** Whether its kernel makes links of the type `dummy`. */
  readonly dummyLinks: boolean;
  /** Whether it tells how long the processes of a group waited. */
  readonly groupPressure: boolean;
  /** Whether it counts what the processes of a group read and wrote. */
  readonly groupIo: boolean;
  /** Whether root may tell the kernel to spare a process when memory runs out (CAP_SYS_RESOURCE, which some containers and machines withhold). */
  readonly sparesProcesses: boolean;
  /** Whether systemd runs it: its private bus is there. */
  readonly systemd: boolean;
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
    spec: /Summary API .*should report resource usage through the stats api/,
    reason: 'the kernel tells no pressure of groups',
    holds: ({ groupPressure }) => !groupPressure,
  },
  {
    spec: /ContainerMetrics .*should report container metrics/,
    reason: 'the kernel counts nothing that groups read and write',
    holds: ({ groupIo }) => !groupIo,
  },
  {
    // Each that restarts its container looks at it, `verifyOomScoreAdj` of test/e2e/common/node/framework/podresize.
    spec: /Pod InPlace Resize .*guaranteed .*(restart|restarts) /,
    reason: "the machine lets nobody lower a process's oom_score_adj",
    holds: ({ sparesProcesses }) => !sparesProcesses,
  },
  {
    // `performContainerRuntimeUnitOp` of test/e2e_node/util.go.
    spec: /the container runtime is temporarily down during pod termination/,
    reason: 'it stops the runtime by systemd, which the machine has not',
    holds: ({ systemd }) => !systemd,
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

const V1_IO = '/sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes';

/** Looks at this machine; for links in a network namespace of its own. */
export async function machineFacts(): Promise<MachineFacts> {
  const works = (command: string, args: readonly string[]): Promise<boolean> =>
    run(command, args).then(
      () => true,
      () => false,
    );
  const dummyLinks = await works('unshare', ['--net', 'ip', 'link', 'add', 'dummy0', 'type', 'dummy']);
  const sparesProcesses = await works('sh', ['-c', 'echo -997 >/proc/self/oom_score_adj']);
  const systemd = await works('test', ['-S', '/run/systemd/private']);
  const text = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined);
  const [v2, pressure, v1Io] = await Promise.all(
    ['/sys/fs/cgroup/cgroup.controllers', '/proc/pressure/cpu', V1_IO].map(text),
  );
  const groupPressure = v2 !== undefined && pressure !== undefined;
  return { dummyLinks, groupPressure, groupIo: countsIo(v2, v1Io), sparesProcesses, systemd };
}

/**
 * Whether I/O is counted by group.
 * @param v2 the controllers of a machine of cgroup v2 alone
 * @param v1Io what the root group of v1 has read and written: a line for each device, and the sum
 */
export function countsIo(v2: string | undefined, v1Io: string | undefined): boolean {
  return v2 === undefined ? /^\d+:\d+ /m.test(v1Io ?? '') : v2.split(/\s+/).includes('io');
}
