import type { PodSpec } from '@node-agent/pod-spec';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { BenchNode, type BenchNodePlan } from '../bench-node.ts';
import { KubeletCalls } from '../kubelet-call.ts';
import { sleep } from '../waiting.ts';
import { execs, type ForwardSpeed, followLogs, forward, HTTP_PORT, type Load, scrapes } from './loads.ts';
import type { ServerBenchOptions } from './options.ts';

/** Resources that a kubelet used during a measurement. */
export interface Used {
  /** Share of one CPU. */
  readonly cpuShare: number;
  readonly cpuSeconds: number;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
}

/** Results of one turn of a kubelet. */
export interface ServerTurn {
  readonly rest: Used;
  readonly follow: Used & Load;
  readonly exec: Used & Load;
  readonly resource: Used & Load;
  readonly cadvisor: Used & Load;
  readonly forward: Used & ForwardSpeed;
}

/** Maximum number of pods that write logs; the other pods are idle. */
const WRITERS = 50;
const LINES_PER_SECOND = 10;
/** Time in ms to wait for the end of the previous load. The wait is never longer than the following measurement. */
const SETTLE_MS = 5_000;

/**
 * Script that writes lines without starting a process for each wait, and exits immediately on SIGTERM. The shell waits
 * by a read with a timeout from a pipe to which nothing is written.
 */
const WRITE = `mkfifo /tmp/never; exec 3<>/tmp/never; i=0; while :; do i=$((i+1)); echo "line $i of a container that has something to say"; read -t 0.1 _ <&3; done`;
const REST = 'sleep infinity & wait';

function serve(megabytes: number): string {
  return [
    `mkdir /tmp/www; echo small >/tmp/www/small; head -c ${megabytes * 2 ** 20} /dev/zero >/tmp/www/large`,
    `httpd -f -p ${HTTP_PORT} -h /tmp/www & wait`,
  ].join('; ');
}

function podOf(command: string, isServer = false): PodSpec {
  const container = {
    ...{ name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent' },
    command: ['sh', '-c', `trap "exit 0" TERM; ${command}`],
    ...(isServer && { readinessProbe: { tcpSocket: { port: HTTP_PORT }, periodSeconds: 1 } }),
  };
  return { terminationGracePeriodSeconds: 1, dnsPolicy: 'Default', containers: [container] };
}

/** Starts a kubelet with its own runtime, loads its server, and stops both. */
export async function takeServerTurn(
  plan: BenchNodePlan & { readonly options: ServerBenchOptions; readonly say: (text: string) => void },
  signal: AbortSignal,
): Promise<ServerTurn> {
  const { options, nodeName, say } = plan;
  const { seconds } = options;
  const settleMs = Math.min(SETTLE_MS, seconds * 1000);
  const tell = (text: string): void => say(`${nodeName}: ${text}`);
  tell('waiting for the node');
  await using node = await BenchNode.start(plan, signal);
  tell(`starting ${options.pods} pods`);
  const writing = Math.max(1, Math.min(WRITERS, options.pods - 1));
  const [server = ''] = await node.addPods(1, signal, podOf(serve(options.megabytes), true), 'serves');
  const writers = await node.addPods(writing, signal, podOf(WRITE), 'writes');
  await node.addPods(Math.max(0, options.pods - writing - 1), signal, podOf(REST), 'rests');
  const calls = new KubeletCalls(node.caller, options.followers + 16);
  const measured = async <T>(work: () => Promise<T>): Promise<Used & T> => {
    await sleep(settleMs, signal);
    await node.kubelet.resetPeak();
    const before = await node.kubelet.usage();
    const startMs = performance.now();
    const result = await work();
    const { cpuSeconds, rssBytes, peakRssBytes } = await node.kubelet.usage();
    const spent = cpuSeconds - before.cpuSeconds;
    const cpuShare = (spent * 1000) / (performance.now() - startMs);
    return { ...result, cpuShare, cpuSeconds: spent, rssBytes, peakRssBytes };
  };
  try {
    await sleep(settleMs, signal);
    tell('measuring at rest');
    const rest = await measured(async () => {
      await sleep(seconds * 1000, signal);
      return {};
    });
    tell(`starting ${options.followers} log followers`);
    const following = await followLogs(calls, writers, options.followers, signal);
    const follow = await measured(async (): Promise<Load> => {
      const before = following.lines();
      await sleep(seconds * 1000, signal);
      const wanted = options.followers * LINES_PER_SECOND * seconds;
      return { done: following.lines() - before, wanted, failed: following.failed(), latencyMs: [] };
    }).finally(() => following.stop());
    tell(`running ${options.execsPerMinute} execs a minute`);
    const { execsPerMinute, scrapesPerMinute } = options;
    const exec = await measured(() => execs(node.caller, writers, { perMinute: execsPerMinute, seconds }, signal));
    tell(`scraping /metrics/resource ${scrapesPerMinute} times a minute`);
    const scrape = (path: string, perMinute: number): Promise<Load> =>
      scrapes(calls, path, { perMinute, seconds }, signal);
    const resource = await measured(() => scrape('/metrics/resource', scrapesPerMinute));
    tell('scraping /metrics/cadvisor once a second');
    const cadvisor = await measured(() => scrape('/metrics/cadvisor', 60));
    tell('measuring a port-forward');
    const forwarded = await measured(() => forward(node.caller, server, signal));
    return { rest, follow, exec, resource, cadvisor, forward: forwarded };
  } finally {
    calls.close();
  }
}
