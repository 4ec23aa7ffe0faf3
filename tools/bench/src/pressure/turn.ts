import { execFile } from 'node:child_process';
import { appendFile, copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@node-agent/async';
import { readHierarchy } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';
import { KubeClients, loadKubeconfig, resources } from '@node-agent/kube-client';
import type { PodSpec } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { buildImage, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { ClusterKubelet } from '../cluster/cluster-kubelet.ts';
import { ClusterPods, conditionHolds } from '../cluster/cluster-pods.ts';
import { RuntimeSide } from '../runtime-side.ts';
import type { TurnPlan } from '../side-by-side.ts';
import { sleep, until } from '../waiting.ts';
import type { PressureOutcome } from './figures.ts';
import { BYSTANDERS, type PressureKind, pressureSpec } from './kinds.ts';
import { LoopDisk } from './loop-disk.ts';
import { Notes } from './notes.ts';

/** Options of {@link takePressureTurn}. */
export interface PressurePlan extends TurnPlan {
  readonly kinds: readonly PressureKind[];
  readonly say: (text: string) => void;
}

const MI = 2 ** 20;
/** Memory for all pods. The machine has more memory than that, so it does not run out. */
const PODS_BYTES = 1400 * MI;
const DISK_MB = 900;
const THRESHOLD_BYTES = 300 * MI;
const BEGIN_TIMEOUT_MS = 180_000;
const ANSWER_TIMEOUT_MS = 60_000;
/** Time in ms to wait after the first terminated pod, so that pods that are terminated afterwards are recorded too. */
const AFTER_MS = 6000;
const LOOK_MS = 10;
const IMAGE_MB = 60;

const threshold = `${THRESHOLD_BYTES / MI}Mi`;
/** Number of attempts to start the pods if the node rejects them, and the interval between the attempts in ms. */
const BEGIN_ATTEMPTS = 20;
const BEGIN_AGAIN_MS = 3_000;

const CONFIGURATION = {
  evictionHard: { 'memory.available': threshold, 'nodefs.available': threshold, 'imagefs.available': threshold },
  evictionPressureTransitionPeriod: '5s',
  // Log rotation is effectively off, because a rotated log would not fill the disk.
  containerLogMaxSize: '2Gi',
  // Images are removed only because of disk pressure, not because of usage.
  imageGCHighThresholdPercent: 100,
  imageMinimumGCAge: '1s',
};

/** Exposes a kubelet to each kind of pressure, one after another, with its own runtime on a small disk. */
export async function takePressureTurn(
  plan: PressurePlan,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PressureOutcome>> {
  const { controlPlane, nodeName, directory, program, say } = plan;
  await using stack = new AsyncDisposableStack();
  await mkdir(join(directory, 'notes'), { recursive: true });
  const disk = await LoopDisk.make(join(directory, 'd'), DISK_MB);
  stack.defer(() => disk.remove());
  const side = await RuntimeSide.start(plan.binaries, disk.directory, plan.subnet);
  stack.defer(() => side.stop());
  const kubelet = new ClusterKubelet({
    ...{ program, nodeName, endpoint: side.endpoint, cgroupRoot: side.cgroupRoot },
    ...{ kubeconfig: await controlPlane.nodeKubeconfig(nodeName), directory: join(disk.directory, 'k') },
    configuration: {
      ...CONFIGURATION,
      // The rest of the machine's memory is reserved for other processes.
      systemReserved: { memory: `${Math.floor((totalmem() - PODS_BYTES) / MI)}Mi`, cpu: `${cpus().length * 100}m` },
    },
  });
  const connection = await loadKubeconfig({ fs: nodeFileSystem }, controlPlane.adminKubeconfig);
  const clients = stack.use(
    new KubeClients(
      { clock: systemClock, logger: silentLogger, metrics: noMetrics, environment: {} },
      { connection, requests: { qps: 0, burst: 1 } },
    ),
  );
  const pods = new ClusterPods(clients.requests, nodeName, signal);
  const watching = new AbortController();
  const watch = pods.start(watching.signal);
  stack.defer(async () => {
    watching.abort();
    await watch.catch(() => {});
  });
  stack.defer(async () => {
    await kubelet.stop();
    await clients.requests.delete(resources.nodes, { name: nodeName }).catch(() => {});
  });
  await kubelet.start();
  const isCalm = async (): Promise<boolean> => {
    await kubelet.usage();
    const node = await clients.requests.get(resources.nodes, { name: nodeName }).catch(() => undefined);
    const isPressed = ['MemoryPressure', 'DiskPressure'].some((type) => conditionHolds(node, type));
    return conditionHolds(node, 'Ready') && !isPressed;
  };
  const calm = (): Promise<void> =>
    until(`${nodeName} is ready and without pressure`, isCalm, signal, { everyMs: 200 });
  const notes = new Notes(join(directory, 'notes'));
  const run = new PressureRun({ ...plan, disk, side, pods, notes, left: await gauges(disk, side) }, signal);
  const outcomes = new Map<string, PressureOutcome>();
  await calm();
  for (const kind of plan.kinds) {
    say(`${nodeName}: ${kind.name}`);
    outcomes.set(kind.name, kind.harm === undefined ? await run.images(kind) : await run.pods(kind, kind.harm));
    await calm();
  }
  return outcomes;
}

type Left = Readonly<Record<PressureKind['runsOut'], () => Promise<number>>>;

/**
 * Returns functions that read the available disk space and memory. The functions compute the values as kubelets do for
 * eviction thresholds.
 */
async function gauges(disk: LoopDisk, side: RuntimeSide): Promise<Left> {
  const hierarchy = await readHierarchy(nodeFileSystem);
  const [mount, usage, cache] =
    hierarchy.version === 1
      ? [hierarchy.mounts.get('memory') ?? '', 'memory.usage_in_bytes', /^total_inactive_file (\d+)$/m]
      : [hierarchy.mount, 'memory.current', /^inactive_file (\d+)$/m];
  const group = `${mount}${side.cgroupRoot}/kubepods`;
  return {
    disk: () => disk.availableBytes(),
    async memory() {
      const used = Number(await readFile(`${group}/${usage}`, 'utf8'));
      return PODS_BYTES - used + Number(cache.exec(await readFile(`${group}/memory.stat`, 'utf8'))?.[1] ?? 0);
    },
  };
}

interface RunPorts extends PressurePlan {
  readonly disk: LoopDisk;
  readonly side: RuntimeSide;
  readonly pods: ClusterPods;
  readonly notes: Notes;
  readonly left: Left;
}

/** Applies one kind of pressure at a time. */
class PressureRun {
  readonly #ports: RunPorts;
  readonly #signal: AbortSignal;

  constructor(ports: RunPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
  }

  /** Runs a hostile pod together with one harmless pod of each QoS class. */
  async pods(kind: PressureKind, harm: string): Promise<PressureOutcome> {
    const { pods, notes, nodeName } = this.#ports;
    await notes.clear();
    const id = `${nodeName}-${kind.name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}`;
    const names = new Map(['hog', ...BYSTANDERS].map((what) => [`${id}-${what}`, what]));
    const specOf = (name: string, what: string): PodSpec => {
      const isHog = what === 'hog';
      // The hostile pod has the same requests as the burstable one, so that only its usage above the requests differs.
      return pressureSpec(name, notes.directory, PAUSE_IMAGE, isHog ? 'burstable' : what, isHog ? harm : undefined);
    };
    await this.#begin(new Map([...names].map(([name, what]) => [name, specOf(name, what)])));
    // The wait gives the runtime and the kubelet time to collect stats of each pod.
    await sleep(12_000, this.#signal);
    await notes.go(`${id}-hog`);
    const first = async (): Promise<number | undefined> => (await notes.left('term'))[0]?.[1];
    const { answerMs, leastBytes } = await this.#await(kind, first);
    await sleep(AFTER_MS, this.#signal);
    const order = (await notes.left('term')).map(([name]) => names.get(name) ?? name);
    const failed = new Set((await notes.left('failed')).map(([name]) => names.get(name) ?? name));
    const ended = [...names].filter(([name]) => pods.phase(name) === 'Failed').map(([, what]) => what);
    const suffered = BYSTANDERS.filter((what) => ended.includes(what) || order.includes(what) || failed.has(what));
    const oomKills = [...names.keys()].filter((name) => pods.endedFor(name) === 'OOMKilled').length;
    await this.#end([...names.keys()]);
    return { answerMs, order, suffered, oomKills, leastBytes };
  }

  /**
   * Creates the pods until all are ready. The node rejects them while it is still short of a resource from the previous
   * kind, which its conditions may not show yet.
   */
  async #begin(specs: ReadonlyMap<string, PodSpec>): Promise<void> {
    const { pods, nodeName } = this.#ports;
    const names = [...specs.keys()];
    for (let attempt = 0; attempt < BEGIN_ATTEMPTS; attempt++) {
      for (const [name, spec] of specs) await pods.create(name, spec);
      const ready = await Promise.all(names.map((name) => pods.becomesReady(name)));
      if (ready.every(Boolean)) return;
      await this.#end(names);
      await sleep(BEGIN_AGAIN_MS, this.#signal);
    }
    throw new Error(`start pods on ${nodeName}: rejected ${BEGIN_ATTEMPTS} times`);
  }

  async #end(names: readonly string[]): Promise<void> {
    const { pods } = this.#ports;
    await Promise.all(names.map((name) => pods.delete(name)));
    await Promise.all(names.map((name) => pods.gone(name)));
  }

  /** Fills the disk with images that no container uses. */
  async images(kind: PressureKind): Promise<PressureOutcome> {
    const { disk, side, directory } = this.#ports;
    const count = async (): Promise<number> => (await side.client.listImages({})).images.length;
    const ending = new AbortController();
    // The copy keeps the name `busybox`, because busybox runs the applet that is named like its file.
    const program = join(directory, 'padded/busybox');
    await mkdir(join(directory, 'padded'), { recursive: true });
    const archive = join(directory, 'image.tar');
    const fill = async (): Promise<void> => {
      for (let index = 0; !ending.signal.aborted && (await disk.availableBytes()) > THRESHOLD_BYTES / 2; index++) {
        await copyFile('/bin/busybox', program);
        // Random bytes after the program do not affect it, and make every image different.
        const { stdout } = await promisify(execFile)('head', ['-c', `${IMAGE_MB}M`, '/dev/urandom'], {
          encoding: 'buffer',
          maxBuffer: 2 * IMAGE_MB * MI,
        });
        await appendFile(program, stdout);
        const tag = `node-agent.local/padded:${index}`;
        await buildImage({ tag, busybox: program, file: archive });
        await side.importImage(archive, tag);
      }
    };
    let most = 0;
    let failure: unknown;
    const filling = fill().catch((error: unknown) => {
      failure = error;
    });
    const fewer = async (): Promise<number | undefined> => {
      const now = await count();
      if (now < most) return Date.now();
      most = now;
      return undefined;
    };
    try {
      const { answerMs, leastBytes } = await this.#await(kind, fewer);
      if (failure !== undefined) throw failure;
      return { answerMs, order: [], suffered: [], oomKills: 0, leastBytes };
    } finally {
      ending.abort();
      await filling;
      for (const path of [program, archive]) await rm(path, { force: true });
    }
  }

  /**
   * Waits for the kubelet's response (a terminated pod or a removed image) to the pressure. @param first returns the
   * wall clock time of the response, once there is one
   */
  async #await(
    kind: PressureKind,
    first: () => Promise<number | undefined>,
  ): Promise<Pick<PressureOutcome, 'answerMs' | 'leastBytes'>> {
    let endMs = performance.now() + BEGIN_TIMEOUT_MS;
    let beganMs: number | undefined;
    let leastBytes = Number.POSITIVE_INFINITY;
    while (performance.now() < endMs) {
      const left = await this.#ports.left[kind.runsOut]();
      leastBytes = Math.min(leastBytes, left);
      if (beganMs === undefined && left < THRESHOLD_BYTES) {
        beganMs = Date.now();
        endMs = performance.now() + ANSWER_TIMEOUT_MS;
      }
      const answeredMs = await first();
      if (answeredMs !== undefined) return { answerMs: beganMs && answeredMs - beganMs, leastBytes };
      await sleep(LOOK_MS, this.#signal);
    }
    // If the machine is too busy to reach the threshold, the result would say nothing about the kubelet.
    if (beganMs === undefined)
      throw new Error(`${kind.name}: threshold not crossed within ${BEGIN_TIMEOUT_MS / 1000} s`);
    return { answerMs: undefined, leastBytes };
  }
}
