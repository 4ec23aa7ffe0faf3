import { mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { findContainerd } from '@node-agent/tools-containerd';
import { type Flags, parseFlags, USAGE, UsageError } from './flags.ts';
import { ensurePrograms } from './install.ts';
import { KubeletClient } from './kubelet-client.ts';
import { kubeletConfiguration, resolvConfOf } from './kubelet-configuration.ts';
import { type KubeletCommand, KubeletProcess } from './kubelet-process.ts';
import { killStaleKubelet, removeWithMounts } from './leftovers.ts';
import { lockDirectory } from './lock.ts';
import { PageAddress } from './page-address.ts';
import { defaultRunDir, type Places, placesIn, runDirProblem } from './places.ts';
import { portsFor } from './ports.ts';
import { startFakeRuntime } from './runtimes/fake.ts';
import { useGivenRuntime } from './runtimes/given.ts';
import type { NodeRuntime, Say } from './runtimes/node-runtime.ts';
import { containerdOf, startPrivateRuntime } from './runtimes/private.ts';
import { sampleManifests } from './sample.ts';
import { EndingView } from './view/ending.ts';
import { type Output, Screen } from './view/screen.ts';
import { watchPods } from './watch.ts';

/** Environment that the process passes to {@link runStandalone}. */
export interface Surroundings {
  readonly output: Output;
  readonly kubelet: KubeletCommand;
  /** Signal that the first Ctrl-C or SIGTERM aborts. */
  readonly ending: AbortSignal;
  /** Signal that the second Ctrl-C or SIGTERM aborts. */
  readonly hurry: AbortSignal;
}

/**
 * Implements `npm start`. Returns the exit code: 0 after a requested end, 1 after a failure, 2 for an invalid command
 * line.
 */
export async function runStandalone(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const screen = new Screen(surroundings.output);
  let flags: Flags;
  try {
    flags = parseFlags(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    screen.say(`npm start: ${error.message}\n\n${USAGE.trimEnd()}`);
    return 2;
  }
  if (flags.help) {
    screen.say(USAGE.trimEnd());
    return 0;
  }
  try {
    return await runNode(flags, screen, surroundings);
  } catch (error) {
    screen.freeze();
    screen.say(`npm start: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

async function runNode(flags: Flags, screen: Screen, surroundings: Surroundings): Promise<number> {
  const say: Say = (line) => screen.say(line);
  const places = await makePlaces(flags);
  const lock = await lockDirectory(places.runDir);
  if (lock === undefined)
    throw new Error(`another node is running in ${places.runDir}; use --run-dir to choose another directory`);
  const startedAt = performance.now();
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => lock.release());

  await killStaleKubelet(places.kubeletConfig);
  cleanUp.defer(() => removeWithMounts(places.kubeletRoot));
  const { runtime, headline, notes } = await startRuntime(flags, places, say);
  cleanUp.defer(async () => {
    using view = new EndingView(screen, () => Date.now());
    await runtime.end(surroundings.hurry, (left) => view.update(left));
  });
  for (const line of [`node-agent: ${headline}, in ${places.runDir}`, ...notes]) say(line);
  // Removes the volumes of a run that was killed. The containers that used these volumes have already been removed.
  await removeWithMounts(places.kubeletRoot);
  say(`runtime ready at ${runtime.endpoint} after ${seconds(startedAt)}`);
  const manifests = await manifestsFor(flags, places, runtime, say);

  const prepared = { manifests, hasDashboard: flags.dashboard };
  const { kubelet, client } = await prepareKubelet(prepared, places, runtime, surroundings.kubelet, say);
  const watching = linkedTo(surroundings.ending);
  const kubeletRun = kubelet.run().finally(() => watching.abort());
  kubeletRun.catch(() => {}); // The error is thrown below, after the pods have been stopped.
  cleanUp.defer(async () => {
    await kubelet.stop();
    await kubeletRun.catch(() => {});
  });
  for (const line of lookAround(manifests, places, runtime, flags)) say(line);

  const now = (): number => Date.now();
  const page = flags.dashboard ? { page: new PageAddress(places.kubeletRoot) } : {};
  const ready = await watchPods({ client, screen, now, ...page }, flags, watching.signal);
  screen.freeze();
  say(
    ready
      ? `every pod is running after ${seconds(startedAt)}; stopping the pods`
      : 'stopping the pods; press Ctrl-C again to kill them immediately',
  );
  const endingAt = performance.now();
  await cleanUp.disposeAsync();
  await kubeletRun;
  say(`stopped after ${seconds(endingAt)}; manifests and logs stay in ${places.runDir}, nothing is running or mounted`);
  return 0;
}

async function makePlaces({ runDir, manifests }: Flags): Promise<Places> {
  if (process.platform !== 'linux') throw new Error('the kubelet needs Linux');
  const uid = process.getuid?.() ?? 0;
  const wanted = resolve(
    runDir ?? defaultRunDir({ uid, xdgRuntimeDir: process.env.XDG_RUNTIME_DIR, tmpDir: tmpdir() }),
  );
  await mkdir(wanted, { recursive: true, mode: 0o755 });
  const real = await realpath(wanted);
  const problem = runDirProblem(real);
  if (problem !== undefined) throw new Error(`--run-dir ${real}: ${problem}`);
  if (manifests !== undefined && !(await isDirectory(manifests))) {
    throw new Error(`--manifests ${manifests}: no such directory`);
  }
  return placesIn(real);
}

interface Started {
  readonly runtime: NodeRuntime;
  /** First line of the output: the kind of node. */
  readonly headline: string;
  readonly notes: readonly string[];
}

/** Starts the requested runtime, or the best available one. First removes what a killed run has left. */
async function startRuntime(flags: Flags, places: Places, say: Say): Promise<Started> {
  const notes: string[] = [];
  const note: Say = (line) => notes.push(line);
  if (flags.runtime.kind === 'given') {
    const { endpoint } = flags.runtime;
    const runtime = await useGivenRuntime(endpoint, places, { needsImage: flags.manifests === undefined }, note);
    return { runtime, headline: `node with the container runtime at ${endpoint}`, notes };
  }
  let reason = '--runtime fake';
  if (flags.runtime.kind === 'auto') {
    const own = await startOwnRuntime(places, say, note).catch((error: unknown) => firstLine(error));
    if (typeof own !== 'string') return { ...own, notes };
    reason = own;
  }
  const runtime = await startFakeRuntime(places.criSocket);
  return { runtime, headline: `node with a FAKE container runtime (${reason}): containers are simulated`, notes };
}

/** Starts a private containerd. @returns the runtime, or the reason why a private containerd cannot be started */
async function startOwnRuntime(places: Places, say: Say, note: Say): Promise<Omit<Started, 'notes'> | string> {
  const lacking = await ensurePrograms(join(places.runDir, 'apt.log'), say);
  if (lacking !== undefined) return lacking;
  const found = await findContainerd();
  if ('reason' in found) return found.reason;
  const { binaries } = found;
  const containerd = containerdOf(places, binaries);
  if (await containerd.removeLeftovers()) note('removed leftovers of an earlier run that was killed');
  const runtime = await startPrivateRuntime(containerd, binaries, say);
  return { runtime, headline: `node with a private containerd ${binaries.version}` };
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

async function manifestsFor(flags: Flags, places: Places, runtime: NodeRuntime, say: Say): Promise<string> {
  if (flags.manifests !== undefined) return realpath(flags.manifests);
  if (await isDirectory(places.manifests)) {
    say(`using the manifests of an earlier run in ${places.manifests}; remove the directory to get the sample again`);
    return places.manifests;
  }
  const draft = `${places.manifests}.new`;
  await mkdir(draft, { recursive: true });
  for (const { fileName, text } of sampleManifests(runtime.image)) await writeFile(join(draft, fileName), text);
  await rename(draft, places.manifests);
  return places.manifests;
}

async function prepareKubelet(
  { manifests, hasDashboard }: { readonly manifests: string; readonly hasDashboard: boolean },
  places: Places,
  runtime: NodeRuntime,
  command: KubeletCommand,
  say: Say,
): Promise<{ kubelet: KubeletProcess; client: KubeletClient }> {
  const [readOnlyPort = 0, healthzPort = 0, dashboardPort = 0] = await portsFor(places.runDir);
  const resolvConf = resolvConfOf({
    etcResolvConf: await readFile('/etc/resolv.conf', 'utf8').catch(() => ''),
    hasSystemdResolved: await isFile('/run/systemd/resolve/resolv.conf'),
  });
  const settings = { endpoint: runtime.endpoint, manifests, podLogs: places.podLogs, resolvConf };
  await writeFile(places.kubeletConfig, kubeletConfiguration({ ...settings, readOnlyPort, healthzPort }));
  await writeFile(places.kubeletLog, '');
  await setLogsAside(places);
  const dashboardFlags = hasDashboard ? [`--dashboard-port=${dashboardPort}`] : [];
  const options = {
    flags: dashboardFlags,
    configFile: places.kubeletConfig,
    rootDir: places.kubeletRoot,
    logFile: places.kubeletLog,
  };
  say(`kubelet: http://127.0.0.1:${readOnlyPort} (/pods, /explain/pod/<namespace>/<name>, /metrics, /healthz)`);
  return {
    kubelet: new KubeletProcess(say, { command, ...options }),
    client: new KubeletClient({ readOnlyPort, logFile: places.kubeletLog }),
  };
}

/**
 * Moves the container logs of the previous run away. The kubelet derives restart counts from existing logs, which
 * belong to other pods.
 */
async function setLogsAside({ podLogs, previousLogs }: Places): Promise<void> {
  if (!(await isDirectory(podLogs))) return;
  await rm(previousLogs, { recursive: true, force: true });
  await rename(podLogs, previousLogs);
}

function lookAround(manifests: string, places: Places, runtime: NodeRuntime, flags: Flags): readonly string[] {
  const sample = flags.manifests === undefined && basename(manifests) === 'manifests';
  return [
    `manifests: ${manifests}   edit, add or remove files to change the pods${sample ? ' (start with clock.yaml)' : ''}`,
    `logs:      ${places.podLogs}/*/*/*.log of containers; ${places.kubeletLog}`,
    ...runtime.lookAround.map((command) => `look:      ${command}`),
    'Ctrl-C stops the pods and leaves nothing running or mounted.',
    '',
  ];
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

function linkedTo(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort(), { once: true });
  return controller;
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
