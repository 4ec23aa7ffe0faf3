import { randomBytes } from 'node:crypto';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collectEvidence, type Findings, fetched, parsed, type Witnesses } from '../evidence.ts';
import { makeImages } from '../images/contents.ts';
import { Registry } from '../images/registry.ts';
import { mountOwnDisk, prepareInside } from '../isolation.ts';
import { EVIDENCE, type Plan } from '../plan.ts';
import { run } from '../run.ts';
import { readReport } from '../specs.ts';
import { clusterArguments, nodeArguments, REPORT, runSuite, type SuiteProgram } from '../suite.ts';
import { ConformanceNode } from './node.ts';
import { prepareNodeSuite } from './node-suite.ts';

const NODE_NAME = 'conformance';
const ADDRESS = '10.87.0.1';
/** Images that most specs use first. */
const FIRST_IMAGES = /\/(agnhost:2\.6|busybox|pause)/;

function say(text: string): void {
  process.stderr.write(`conformance: ${text}\n`);
}

async function inside(plan: Plan, signal: AbortSignal): Promise<void> {
  const { directory, output } = plan;
  if (plan.selection.ownDisk) await mountOwnDisk(directory);
  await prepareInside(directory, ADDRESS);
  const images = await serveImages(plan);
  const node = new ConformanceNode({
    ...{ directory, logs: output, name: NODE_NAME, address: ADDRESS, ...images },
    ...{
      controlPlane: plan.controlPlane,
      containerd: plan.containerd,
      kubelet: plan.kubelet,
      programs: plan.programs,
      features: plan.selection.cluster,
    },
  });
  say('starting the node');
  const { suite } = plan.selection;
  // A suite uses its program's directory as its working directory and leaves files there.
  const workplace = join(directory, 'suite');
  await mkdir(workplace);
  const file = join(workplace, `${suite}.test`);
  await symlink(plan.programs[`${suite}.test`], file);
  const { witnesses, ...prepared } = await (suite === 'e2e' ? clusterSuite : nodeSuite)(plan, node, signal);
  const program = { ...prepared.program, ginkgo: plan.programs.ginkgo, suite: file, output };
  say('running the specs');
  await runSuite(plan.selection, program, node.containerd.endpoint, say, signal);
  const { specs } = readReport(await readFile(join(output, REPORT), 'utf8'));
  const failed = specs.filter(({ state }) => state === 'failed');
  const evidence = await collectEvidence(failed, witnesses);
  const findings: Findings = { kubeletEnded: node.kubeletEnded, evidence };
  await writeFile(join(output, EVIDENCE), JSON.stringify(findings));
  await node.stop();
}

/** Suite that is ready to run, with the sources of evidence after the run. */
interface Prepared {
  readonly program: Pick<SuiteProgram, 'args' | 'path'>;
  readonly witnesses: Witnesses;
}

/** Starts a cluster with one node for e2e.test. */
async function clusterSuite(plan: Plan, node: ConformanceNode, signal: AbortSignal): Promise<Prepared> {
  const { output, controlPlane } = plan;
  await node.start(signal);
  const api = async (path: string): Promise<unknown> => {
    const answer = await node.plane.request('GET', path).catch(() => undefined);
    return answer?.status === 200 ? parsed(answer.text) : undefined;
  };
  const explain = `/api/v1/nodes/${NODE_NAME}/proxy/debug/explain`;
  const args = clusterArguments({ kubectl: controlPlane.kubectl, kubeconfig: node.plane.adminKubeconfig, output });
  return {
    program: { args },
    witnesses: { api, explain: (namespace, pod) => api(`${explain}/${namespace}/${pod}`), kubeletLog: node.kubeletLog },
  };
}

/** Starts the runtime and prepares the files with which e2e_node.test starts the other components. */
async function nodeSuite(plan: Plan, node: ConformanceNode, signal: AbortSignal): Promise<Prepared> {
  const { output } = plan;
  await node.startRuntime(signal);
  const { path, ...places } = await prepareNodeSuite(plan);
  const token = randomBytes(16).toString('hex');
  // The API server of the suite has a self-signed certificate.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const args = nodeArguments({ ...places, nodeName: NODE_NAME, nodeAddress: ADDRESS, token, output });
  return {
    program: { args, path },
    witnesses: {
      api: (path) => fetched(`https://127.0.0.1:6443${path}`, { authorization: `Bearer ${token}` }),
      explain: (namespace, pod) => fetched(`http://127.0.0.1:10255/explain/pod/${namespace}/${pod}`),
      kubeletLog: node.kubeletLog,
    },
  };
}

/**
 * Builds and serves the images that the suites use. @returns the registry's URL, and the images that are pulled before
 * the first spec
 */
async function serveImages({
  output,
  programs,
  sidecars,
  selection,
}: Plan): Promise<{ mirror: string; images: readonly string[] }> {
  const lines = (await run(programs['e2e.test'], ['--list-images'])).split('\n').filter((line) => line !== '');
  const listed = [...new Set([...lines, ...(await manifestImages(programs.sources))])];
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const { images, unknown, missing } = await makeImages([...new Set(listed)], {
    programs,
    sidecars,
    proxy: selection.deploysProxy,
    sources: programs.sources,
    architecture,
  });
  const made = images.map(({ reference }) => reference);
  if (missing.length > 0)
    say(`programs missing on this machine: ${missing.join(', ')}; the images are built without them`);
  await writeFile(join(output, 'images.json'), JSON.stringify({ made, unknown, missing }, undefined, 1));
  return {
    mirror: await new Registry(images).start(),
    images: made.filter((reference) => FIRST_IMAGES.test(reference)),
  };
}

const [, , file = ''] = process.argv;
const controller = new AbortController();
process.stdin.resume().on('end', () => controller.abort(new Error('interrupted by a signal')));
// The exit of this process, which is the child of the namespace's init process, ends all other processes of the PID
// namespace.
inside(JSON.parse(await readFile(file, 'utf8')) as Plan, controller.signal).then(
  () => process.exit(0),
  (error: unknown) => {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  },
);

/** Returns the images of manifests that the node suite uses but `--list-images` does not contain. */
async function manifestImages(sources: string): Promise<readonly string[]> {
  const manifest = join(sources, 'test/e2e/testing-manifests/sample-device-plugin/sample-device-plugin.yaml');
  return [...(await readFile(manifest, 'utf8')).matchAll(/^ *-? *image: (\S+)$/gm)].map(([, image]) => image ?? '');
}
