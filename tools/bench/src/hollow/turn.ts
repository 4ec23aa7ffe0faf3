import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFileSystem } from '@node-agent/host';
import { KubeClients, loadKubeconfig, resources } from '@node-agent/kube-client';
import { readUsage } from '../proc.ts';
import { shebangFlags } from '../shebang.ts';
import { sleep, until } from '../waiting.ts';
import type { HollowApi, StartApi } from './api.ts';
import type { HollowFigures } from './figures.ts';
import { boundLoad, deploymentLoad, type Load } from './load.ts';
import type { HollowBenchOptions } from './options.ts';
import { ReadyWatch } from './ready-watch.ts';

/** Path of the built hollow-node program. */
export const HOLLOW_NODE: string = fileURLToPath(new URL('../../../../apps/hollow-node/dist/main.js', import.meta.url));

/** Settings of a turn. */
export interface HollowTurn {
  readonly startApi: StartApi;
  readonly directory: string;
  readonly nodes: number;
  readonly options: Pick<HollowBenchOptions, 'pods' | 'idleSeconds' | 'memoryApi' | 'withoutScheduler'>;
  readonly say: (text: string) => void;
}

const NODES_WAIT = { everyMs: 200, timeoutMs: 1_200_000 };
const UNLIMITED = { qps: 0, burst: 1 };

/**
 * Measures one number of hollow nodes with all numbers of pods, and yields the figures of each step.
 * @throws Error if something is not ready in time
 */
export async function* hollowTurn(
  { startApi, directory, nodes, options, say }: HollowTurn,
  signal: AbortSignal,
): AsyncGenerator<HollowFigures> {
  const own = join(directory, `nodes-${nodes}`);
  await mkdir(own);
  await using api = await startApi(own);
  const connection = await loadKubeconfig({ fs: nodeFileSystem }, api.adminKubeconfig);
  await using clients = new KubeClients({ environment: {} }, { connection, requests: UNLIMITED });
  const client = clients.requests;
  using watched = new ReadyWatch(client, resources.nodes);
  using load = options.memoryApi || options.withoutScheduler ? boundLoad(client, nodes) : deploymentLoad(client);
  const startedAtMs = performance.now();
  await using program = await startHollow(api, nodes);
  const areReady = (): boolean => program.isRunning() && watched.ready >= nodes;
  await until(`${nodes} nodes are Ready`, areReady, signal, NODES_WAIT);
  const nodesReadySeconds = (performance.now() - startedAtMs) / 1000;
  say(`${nodes} nodes are Ready after ${nodesReadySeconds.toFixed(1)} s`);
  let before = 0;
  for (const pods of options.pods) {
    const lostBefore = watched.lost;
    const started = pods === 0 ? undefined : await startPods(load, program.pid, nodes * before, nodes * pods, signal);
    if (started) say(`${nodes * pods} pods are Ready after ${started.seconds.toFixed(1)} s`);
    const rest = await measureRest(program.pid, api, options.idleSeconds, signal);
    yield {
      ...{ nodes, pods, nodesReadySeconds, podsReadySeconds: started?.seconds, cpuMsPerPod: started?.cpuMsPerPod },
      ...rest,
      timesNotReady: watched.lost - lostBefore,
    };
    before = pods;
  }
}

interface Program extends AsyncDisposable {
  readonly pid: number;
  /** Returns true while the program runs. @throws Error if the program has exited */
  isRunning(): true;
}

async function startHollow(api: HollowApi, nodes: number): Promise<Program> {
  const flags = shebangFlags(await readFile(HOLLOW_NODE, 'utf8'));
  const args = [`--kubeconfig=${api.adminKubeconfig}`, `--nodes=${nodes}`, '--address=127.0.0.1'];
  const hollow = spawn(process.execPath, [...flags, HOLLOW_NODE, ...args, ...api.hollowArguments], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(hollow, 'exit');
  return {
    pid: hollow.pid ?? 0,
    isRunning() {
      const code = hollow.exitCode ?? hollow.signalCode;
      if (code !== null) throw new Error(`hollow-node: ended with ${code}`);
      return true;
    },
    async [Symbol.asyncDispose]() {
      if (hollow.exitCode === null && hollow.signalCode === null) hollow.kill('SIGTERM');
      await ended;
    },
  };
}

/** Increases the number of pods and waits until all are Ready. */
async function startPods(
  load: Load,
  pid: number,
  before: number,
  pods: number,
  signal: AbortSignal,
): Promise<{ readonly seconds: number; readonly cpuMsPerPod: number }> {
  const startedAtMs = performance.now();
  const from = await readUsage(pid);
  await load.grow(pods, signal);
  const to = await readUsage(pid);
  return {
    seconds: (performance.now() - startedAtMs) / 1000,
    cpuMsPerPod: ((to.cpuSeconds - from.cpuSeconds) * 1000) / (pods - before),
  };
}

async function measureRest(
  pid: number,
  api: HollowApi,
  seconds: number,
  signal: AbortSignal,
): Promise<Pick<HollowFigures, 'restShare' | 'rssBytes' | 'peakRssBytes' | 'controlPlaneShare'>> {
  // Waits for status writes that are still in progress: they belong to the start of the pods, not to the time at rest.
  await sleep(5000, signal);
  const pids = await api.pids();
  const cpuOf = async (all: readonly number[]): Promise<number> =>
    (await Promise.all(all.map(readUsage))).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const before = { hollow: await cpuOf([pid]), controlPlane: await cpuOf(pids), atMs: performance.now() };
  await sleep(seconds * 1000, signal);
  const tookSeconds = (performance.now() - before.atMs) / 1000;
  const { rssBytes, peakRssBytes, cpuSeconds } = await readUsage(pid);
  return {
    restShare: (cpuSeconds - before.hollow) / tookSeconds,
    controlPlaneShare: pids.length === 0 ? undefined : ((await cpuOf(pids)) - before.controlPlane) / tookSeconds,
    ...{ rssBytes, peakRssBytes },
  };
}
