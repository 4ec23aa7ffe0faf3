import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collectEvidence } from '../evidence.ts';
import { makeImages } from '../images/contents.ts';
import { Registry } from '../images/registry.ts';
import { prepareInside } from '../isolation.ts';
import { EVIDENCE, type Plan } from '../plan.ts';
import { run } from '../run.ts';
import { readReport } from '../specs.ts';
import { REPORT, runSuite } from '../suite.ts';
import { ConformanceNode } from './node.ts';

const NODE_NAME = 'conformance';
const ADDRESS = '10.87.0.1';
/** What most specs begin with. */
const FIRST_IMAGES = /\/(agnhost:2\.6|busybox|pause)/;

function say(text: string): void {
  process.stderr.write(`conformance: ${text}\n`);
}

async function inside(plan: Plan, signal: AbortSignal): Promise<void> {
  const { directory, output, programs } = plan;
  await prepareInside(directory, ADDRESS);
  const references = (await run(programs['e2e.test'], ['--list-images'])).split('\n').filter((line) => line !== '');
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const { images, unknown } = await makeImages([...new Set(references)], {
    programs,
    sources: programs.sources,
    architecture,
  });
  await writeFile(
    join(output, 'images.json'),
    JSON.stringify({ made: images.map(({ reference }) => reference), unknown }),
  );
  const registry = new Registry(images);
  const mirror = await registry.start();
  const node = new ConformanceNode({
    ...{ directory, logs: output, name: NODE_NAME, address: ADDRESS, mirror },
    ...{
      controlPlane: plan.controlPlane,
      containerd: plan.containerd,
      kubelet: plan.kubelet,
      cgroupRoot: plan.cgroupRoot,
    },
    images: images.map(({ reference }) => reference).filter((reference) => FIRST_IMAGES.test(reference)),
  });
  say('starting the node');
  await node.start(signal);
  say('running the specs');
  const kubeconfig = node.plane.adminKubeconfig;
  await runSuite(
    plan.selection,
    {
      ...{ ginkgo: programs.ginkgo, suite: programs['e2e.test'], kubectl: plan.controlPlane.kubectl },
      ...{ kubeconfig, runtime: node.containerd.endpoint, output },
    },
    signal,
  );
  if (node.kubeletEnded !== undefined) say(`the kubelet: ${node.kubeletEnded}`);
  const { specs } = readReport(await readFile(join(output, REPORT), 'utf8'));
  const failed = specs.filter(({ state }) => state === 'failed');
  const evidence = await collectEvidence(failed, node.plane, NODE_NAME, node.kubeletLog);
  await writeFile(join(output, EVIDENCE), JSON.stringify(evidence));
  await node.stop();
}

const [, , file = ''] = process.argv;
const controller = new AbortController();
process.stdin.resume().on('end', () => controller.abort(new Error('told to end')));
// What runs beside this process ends with it, as the first of its namespace does.
inside(JSON.parse(await readFile(file, 'utf8')) as Plan, controller.signal).then(
  () => process.exit(0),
  (error: unknown) => {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  },
);
