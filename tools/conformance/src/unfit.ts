import { readFile } from 'node:fs/promises';
import { run } from './run.ts';
import type { SpecResult } from './specs.ts';

/** Capabilities that specs require and that some machines do not have. */
export interface MachineFacts {
  /** Whether the kernel supports links of type `dummy`. */
  readonly dummyLinks: boolean;
  /** Whether the kernel reports pressure (PSI) per cgroup. */
  readonly groupPressure: boolean;
  /** Whether the kernel counts I/O per cgroup. */
  readonly groupIo: boolean;
  /**
   * Whether root may lower the `oom_score_adj` of a process (CAP_SYS_RESOURCE, which some containers and virtual
   * machines lack).
   */
  readonly sparesProcesses: boolean;
  /** Whether systemd runs, determined by its private bus socket. */
  readonly systemd: boolean;
}

interface Rule {
  readonly spec: RegExp;
  readonly reason: string;
  holds(machine: MachineFacts): boolean;
}

/**
 * Specs that no kubelet can pass on some machines, with the missing capability. A comparison can disprove a rule: if
 * the compared kubelet passes the spec on the same machine, the spec counts as failed.
 */
const RULES: readonly Rule[] = [
  {
    spec: /PrivilegedPod .*should enable privileged commands/,
    reason: 'the kernel does not support `dummy` links',
    holds: ({ dummyLinks }) => !dummyLinks,
  },
  {
    spec: /Summary API .*should report resource usage through the stats api/,
    reason: 'the kernel does not report pressure per cgroup',
    holds: ({ groupPressure }) => !groupPressure,
  },
  {
    spec: /ContainerMetrics .*should report container metrics/,
    reason: 'the kernel does not count I/O per cgroup',
    holds: ({ groupIo }) => !groupIo,
  },
  {
    // Each of these specs restarts the container and then checks it with `verifyOomScoreAdj`
    // (test/e2e/common/node/framework/podresize).
    spec: /Pod InPlace Resize .*guaranteed .*(restart|restarts) /,
    reason: "the machine does not allow lowering a process's oom_score_adj",
    holds: ({ sparesProcesses }) => !sparesProcesses,
  },
  {
    // The mock driver's volumes have ext4, and resize2fs needs CAP_SYS_RESOURCE for a mounted file system.
    spec: /CSI Mock volume expansion .*(online volume expansion .*nodeExpansion=on|record target size in allocated)/,
    reason: 'the machine does not allow resizing a mounted ext4 file system',
    holds: ({ sparesProcesses }) => !sparesProcesses,
  },
  {
    // The spec calls `performContainerRuntimeUnitOp` (test/e2e_node/util.go), which needs systemd.
    spec: /the container runtime is temporarily down during pod termination/,
    reason: 'the spec stops the runtime with systemd, which does not run on this machine',
    holds: ({ systemd }) => !systemd,
  },
  {
    // The specs call `PrePullAllImages` (test/e2e_node/image_list.go) before or after they run.
    spec: /ImageGarbageCollect|ImageGCNoEviction|ImageGCTerminatedPodsContainersCleanup|SystemNodeCriticalPod/,
    reason: "the spec pulls an image by digest, and only upstream's own image has this digest",
    holds: () => true,
  },
  {
    // The Go kubelet also lacks the series that topology_manager.go: initializeMetrics sets, because the metrics are
    // registered later.
    spec: /Topology Manager Metrics .*should return updated alignment counters/,
    reason:
      "the spec expects only the alignment series of NUMA nodes, but configures the CPU manager's static policy, which adds two more",
    holds: () => true,
  },
];

/** Returns the reason why no kubelet can pass a spec on a machine; `undefined` if a kubelet can. */
export function unfitReason({ name }: Pick<SpecResult, 'name'>, machine: MachineFacts): string | undefined {
  return RULES.find(({ spec, holds }) => spec.test(name) && holds(machine))?.reason;
}

const V1_IO = '/sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes';

/** Determines the capabilities of this machine. Links are tested in a separate network namespace. */
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
 * Returns whether I/O is counted per cgroup.
 * @param v2 controllers of a machine with cgroup v2 only
 * @param v1Io I/O statistics of the root cgroup on v1: a line per device, and the total
 */
export function countsIo(v2: string | undefined, v1Io: string | undefined): boolean {
  return v2 === undefined ? /^\d+:\d+ /m.test(v1Io ?? '') : v2.split(/\s+/).includes('io');
}
