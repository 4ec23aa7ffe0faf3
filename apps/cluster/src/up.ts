import { createHash } from 'node:crypto';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findContainerd } from '@node-agent/tools-containerd';
import { findCluster } from '@node-agent/tools-control-plane';
import { makeGroup, makeMountPoints } from '@node-agent/tools-isolation';
import { ensurePrograms, lockDirectory } from '@node-agent/tools-standalone';
import { PARTS } from './call.ts';
import { OWN_DIRECTORIES } from './inside/node-namespace.ts';
import type { Plan } from './inside/plan.ts';
import { IsolatedProgram } from './isolated-program.ts';
import { readKept, writeKept } from './kept.ts';
import { CHANGED_SETTINGS, readSettings } from './kernel-settings.ts';
import { ownMountPoints } from './mount-points.ts';
import { readNameServers } from './name-servers.ts';
import { clusterNetwork, freeBlock, isBlockFree } from './network.ts';
import { type ClusterOptions, DEFAULT_DIRECTORY } from './options.ts';
import { kubeletCommand } from './own-commands.ts';
import { checkOwner } from './owner.ts';
import { directoryProblem, type Places, placesIn } from './places.ts';
import { run as runProgram } from './run-program.ts';
import { readState, startTimeOf, writeState } from './state.ts';
import { summary } from './summary.ts';
import { removeTraces } from './traces.ts';
import { connect } from './uplink.ts';

/**
 * CPU shares of the cluster's cgroup. The number is ten times the default, because the cgroup contains about ten
 * services, each of which would have the default shares on a real machine.
 */
const CPU_SHARES = 10_240;

/** Callbacks and signals of a command. */
export interface Surroundings {
  readonly say: (line: string) => void;
  /** Command that the user typed, for messages. */
  readonly calledAs: string;
  /** Signal that is aborted when the command must end. */
  readonly ending: AbortSignal;
  /** Signal that is aborted when containers must end without their grace periods. */
  readonly hurry: AbortSignal;
  /** Called when the cluster is ready. */
  readonly ready?: () => void;
}

/**
 * Runs a cluster until the command must end, and then removes everything of it except a kept directory.
 * @throws Error with the reason if the cluster cannot start or a process of it keeps exiting
 */
export async function up(options: ClusterOptions, surroundings: Surroundings): Promise<void> {
  const { say } = surroundings;
  await mkdir(options.directory, { recursive: true, mode: 0o755 });
  const directory = await realpath(options.directory);
  await checkOwner(directory);
  const problem = directoryProblem(directory);
  if (problem !== undefined) throw new Error(`${directory}: ${problem}`);
  const places = placesIn(directory);
  const lock = await lockDirectory(directory);
  if (lock === undefined) {
    throw new Error(`another cluster is running in ${directory}; use --run-dir to choose another directory`);
  }
  try {
    const left = await readState(places.state);
    if (left !== undefined) {
      await removeTraces(places, left);
      say('removed leftovers of an earlier run that was killed');
      await mkdir(directory, { recursive: true, mode: 0o755 });
    }
    await upIn(places, options, surroundings);
  } finally {
    const state = await readState(places.state);
    if (state !== undefined) await removeTraces(places, state);
    await lock.release();
  }
}

async function upIn(places: Places, options: ClusterOptions, surroundings: Surroundings): Promise<void> {
  const { say, ending } = surroundings;
  const { directory } = places;
  const { keeps } = options;
  const kept = await readKept(places, keeps);
  const block = await chooseBlock(directory, kept?.block);
  const network = clusterNetwork(block, options.nodes);
  const mountPoints = await ownMountPoints(OWN_DIRECTORIES);
  // The state file is written first, so that the next command finds everything that a killed command has created.
  await writeState(places.state, {
    pid: process.pid,
    startTime: (await startTimeOf(process.pid)) ?? '',
    keeps,
    subnet: network.subnet,
    mountPoints,
    kernelSettings: await readSettings(Object.keys(CHANGED_SETTINGS)),
  });
  if (keeps) await writeKept(places, { block });
  const programs = await findPrograms(options, places, say);
  if (ending.aborted) return;
  await makeMountPoints(mountPoints);
  const kubelet = kubeletCommand();
  const plan: Plan = { ...programs, directory, network, kubelet, keeps, nameServers: await readNameServers() };
  await writeFile(places.plan, JSON.stringify(plan), { mode: 0o600 });
  await run(plan, places, options, surroundings);
}

/** Runs the program in namespaces until the command must end. */
async function run(plan: Plan, places: Places, options: ClusterOptions, surroundings: Surroundings): Promise<void> {
  const { say, calledAs, ending, hurry } = surroundings;
  const startedAt = performance.now();
  const after = (): string => `after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const program = new IsolatedProgram({
    args: [PARTS.cluster, places.plan],
    namespaces: 'machine',
    groups: await makeGroup(places.group, { cpuShares: CPU_SHARES }),
    logFile: places.log,
    say: (text) => say(`${text} ${after()}`),
    attach: (pid) => connect(places.link, pid, plan.network),
  });
  const ended = new Promise<void>((resolve) => {
    if (ending.aborted) resolve();
    else ending.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([program.ready, ended]);
  if (!ending.aborted) {
    const { directory } = places;
    const selection = directory === DEFAULT_DIRECTORY ? [] : [options.keeps ? '--data' : '--run-dir', directory];
    const { kubectl } = plan.binaries;
    const { keeps, detaches } = options;
    for (const line of summary({
      calledAs,
      kubectl,
      kubeconfig: places.kubeconfig,
      directory,
      keeps,
      detaches,
      selection,
    }))
      say(line);
    surroundings.ready?.();
  }
  const exited = await Promise.race([program.exit, ended]);
  if (typeof exited === 'string') throw new Error(`${exited}\n${await program.logTail()}`);
  say(
    options.keeps
      ? 'stopping the pods and the control plane; press Ctrl-C again to kill the pods'
      : 'removing the cluster',
  );
  hurry.addEventListener('abort', () => program.hurry());
  await program.end();
}

/**
 * Returns the second byte of the cluster's addresses. @throws Error if the byte of a kept cluster or, for a new
 * cluster, every candidate is in use
 */
async function chooseBlock(directory: string, kept: number | undefined): Promise<number> {
  const used = `${await runProgram('ip', ['-4', '-o', 'address'])}\n${await runProgram('ip', ['-4', 'route'])}`;
  if (kept === undefined) return freeBlock(createHash('sha256').update(directory).digest().readUInt16BE(0), used);
  if (isBlockFree(kept, used)) return kept;
  throw new Error(`${directory}: the addresses of the kept cluster, ${clusterNetwork(kept, 1).subnet}, are in use`);
}

async function findPrograms(
  options: ClusterOptions,
  places: Places,
  say: (line: string) => void,
): Promise<Pick<Plan, 'binaries' | 'containerd'>> {
  const lacking = await ensurePrograms(join(places.directory, 'apt.log'), say, ['openssl']);
  if (lacking !== undefined) throw new Error(`run containers: ${lacking}`);
  const containerd = await findContainerd();
  if ('reason' in containerd) throw new Error(`run containers: ${containerd.reason}`);
  const { binaries: directory } = options;
  const found = await findCluster({ say, ...(directory !== undefined && { directory }) });
  if ('reason' in found) throw new Error(`find the programs of the cluster: ${found.reason}`);
  return { binaries: found.binaries, containerd: containerd.binaries };
}
