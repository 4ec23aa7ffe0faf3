// From packages/fake-cri/README.md, which explains the program.
import { busyboxImage, FakeRuntime } from '@node-agent/fake-cri';
import { nodeFileSystem } from '@node-agent/host';

const runtime = new FakeRuntime({ fs: nodeFileSystem }, { images: [busyboxImage('busybox')] });
const config = { metadata: { name: 'web', namespace: 'default', uid: 'u-1', attempt: 0 }, hostname: 'web' };
const { podSandboxId } = await runtime.runPodSandbox({ config });

// The response of the next CreateContainer is lost: the container is created anyway, and the retry is rejected.
runtime.faults.add({ rpc: 'createContainer', fault: { kind: 'answerLost' }, times: 1 });
const request = {
  podSandboxId,
  config: { metadata: { name: 'main', attempt: 0 }, image: { image: 'busybox' }, command: ['sh', '-c', 'exit 3'] },
  sandboxConfig: config,
};
for (const attempt of [1, 2]) {
  await runtime.createContainer(request).catch((error: Error) => console.log(`try ${attempt}: ${error.message}`));
}
const { containers } = await runtime.listContainers({});
console.log(`containers: ${containers.length}`);
