// Specs of upstream's e2e_node.test about CPU, memory and topology managers and the pod resources API, on a machine with
// two NUMA nodes.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  machineFacts,
  nodeArguments,
  prepareNetwork,
  prepareNodeSuite,
  REPORT,
  readReport,
  runSuite,
  type SpecResult,
  unfitReason,
} from '@node-agent/tools-conformance/node-suite';
import { Containerd } from '@node-agent/tools-containerd';
import { RESULTS } from '../src/guest.ts';
import type { SpecOptions } from '../src/options.ts';
import { binaries, HOST, KUBELET, UPSTREAM } from './guest-binaries.ts';
import { run, systemd } from './machine.ts';

/** Specs that need several CPUs or NUMA nodes. The suite runs without alpha features. */
const LABELS =
  'Serial && !(Feature: containsAny PodLevelResourceManagers) && ' +
  'Feature: containsAny {CPUManager, MemoryManager, TopologyManager, PodResourcesAPI}';
const ADDRESS = '10.87.0.1';
const SUBNET = '10.88.0.0/16';
const DIRECTORY = '/tmp/e2e';
const LOGS = ['ginkgo.log', 'kubelet.log', 'services.log', 'containerd.log'];
/** Time limit for the start of the runtime, in ms of the guest's clock. */
const START_MS = 600_000;
/** Interval in ms at which logs are copied to the host and the host is asked whether to stop. */
const COPY_MS = 30_000;

const began = performance.now();
const say = (text: string): void => console.log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${text}`);

const specs = JSON.parse(await readFile(`${HOST}/e2e-node.json`, 'utf8')) as SpecOptions;
const output = join(DIRECTORY, 'output');
await mkdir(output, { recursive: true });
await mkdir(RESULTS, { recursive: true });
// The machine's own containerd is stopped, because the tests use another version.
await run('systemctl', 'stop', 'containerd');
await prepareNetwork(ADDRESS);
if (!existsSync('/etc/resolv.conf')) await writeFile('/etc/resolv.conf', `nameserver ${ADDRESS}\n`);

const containerd = new Containerd({
  ...{ binaries, directory: '/tmp/c', subnet: SUBNET, systemdCgroup: true, startTimeoutMs: START_MS },
  logFile: join(output, 'containerd.log'),
});
await containerd.start();
say('started the runtime');
await containerd.importImage(`${HOST}/images.tar`, 'registry.k8s.io/e2e-test-images/busybox:1.37.0-1');
await mkdir('/etc/containerd', { recursive: true });
// Specs read the runtime's configuration from this file.
await copyFile('/tmp/c/config.toml', '/etc/containerd/config.toml');
say('imported the images');

const { path, ...places } = await prepareNodeSuite({
  ...{ directory: DIRECTORY, kubelet: specs.upstream ? UPSTREAM : KUBELET, systemd: true },
  environment: { NODE_COMPILE_CACHE: '/tmp/compiled' },
});
// A suite uses its program's directory as its working directory and leaves files there.
const workplace = join(DIRECTORY, 'suite');
await mkdir(workplace, { recursive: true });
const suite = join(workplace, 'e2e_node.test');
await symlink(`${HOST}/bin/e2e_node.test`, suite);

const stop = new AbortController();
const timer = setInterval(() => {
  void copyLogs();
  if (existsSync(join(RESULTS, 'stop'))) stop.abort(new Error('the host requested a stop'));
}, COPY_MS);
const selection = { suite: 'e2e_node', labels: LABELS, focus: specs.focus, skip: specs.skip } as const;
const args = nodeArguments({ ...places, nodeName: 'vm', nodeAddress: ADDRESS, token: 'e2e-node', output });
say('running the specs');
await runSuite(
  { ...selection, common: true, processes: 1, seed: 1, verbose: true },
  { ginkgo: `${HOST}/bin/ginkgo`, suite, path, args: [...args, '--server-start-timeout=10m'], output },
  containerd.endpoint,
  say,
  stop.signal,
);
clearInterval(timer);
await copyLogs();
systemd.close();
const { specs: results, problems } = readReport(await readFile(join(output, REPORT), 'utf8'));
const facts = await machineFacts();
for (const result of results) console.log(row(result));
for (const problem of problems) console.log(`problem: ${problem}`);
const count = (outcome: string): number => results.filter((result) => outcomeOf(result) === outcome).length;
const OUTCOMES = ['passed', 'failed', 'impossible', 'stopped', 'skipped'];
say(OUTCOMES.map((outcome) => `${count(outcome)} ${outcome}`).join(', '));
process.exit(count('failed') + problems.length > 0 || count('passed') === 0 ? 1 : 0);

/**
 * Returns the outcome of a spec. A failure is `impossible` if no kubelet can pass the spec, and `stopped` if the host
 * requested a stop.
 */
function outcomeOf(result: SpecResult): string {
  if (result.state !== 'failed') return result.state;
  if (stop.signal.aborted && result.message.startsWith('Interrupted')) return 'stopped';
  return unfitReason(result, facts) === undefined ? 'failed' : 'impossible';
}

/** Returns a line of the table of results. */
function row(result: SpecResult): string {
  const { name, seconds, message, location } = result;
  const cause = unfitReason(result, facts) ?? message.split('\n')[0];
  const reason = message === '' ? '' : `: ${cause} (${location})`;
  return `${outcomeOf(result).padEnd(10)} ${seconds.toFixed(0).padStart(5)} s  ${name}${reason}`;
}

async function copyLogs(): Promise<void> {
  for (const name of [REPORT, ...LOGS]) {
    const from = join(output, name);
    if (existsSync(from)) await copyFile(from, join(RESULTS, name)).catch((error: unknown) => say(String(error)));
  }
}
