// From packages/pod-config/README.md, which explains the program.
import { nodeFileSystem } from '@node-agent/host';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { FileSource, formatProblem, PodConfig } from '@node-agent/pod-config';

const path = await mkdtemp('/tmp/manifests-');
const manifest = (image: string) => `
apiVersion: v1
kind: Pod
metadata: { name: web }
spec: { containers: [{ name: main, image: ${image} }] }
`;
await writeFile(`${path}/web.yaml`, manifest('nginx:1'));
await writeFile(`${path}/broken.yaml`, 'apiVersion: v1\nkind: Pod\nspce: {}\n');

const config = new PodConfig();
const source = new FileSource(
  { fs: nodeFileSystem, set: config.addSource('file') },
  { path, nodeName: 'node-1' },
);
const controller = new AbortController();
const ended = source.start(controller.signal);

for await (const { op, pods } of config.updates) {
  for (const { metadata, spec } of pods) console.log(op, metadata.name, metadata.uid, spec.containers[0]?.image);
  if (op === 'ADD' && pods[0]?.spec.containers[0]?.image === 'nginx:2') break;
  await writeFile(`${path}/web.yaml`, manifest('nginx:2'));
}
console.log(source.problems.map(formatProblem).join('\n'));
controller.abort();
await ended;
await rm(path, { recursive: true });
