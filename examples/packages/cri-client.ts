// From packages/cri-client/README.md, which explains the program.
import { CriClient, CriError, enumName, PodSandboxState } from '@node-agent/cri-client';

const endpoint = process.argv[2] ?? 'unix:///run/containerd/containerd.sock';
const runtime = new CriClient({}, { endpoint, waitForRuntime: 'never' });
try {
  const { runtimeName, runtimeVersion } = await runtime.connect();
  const { items } = await runtime.listPodSandbox({});
  console.log(`${runtimeName} ${runtimeVersion} at ${runtime.endpoint} runs ${items.length} pods`);
  for (const { id, state, metadata, createdAt } of items) {
    const created = new Date(createdAt / 1e6).toISOString();
    console.log(`${metadata?.namespace}/${metadata?.name}  ${enumName(PodSandboxState, state)}  created ${created}  ${id.slice(0, 13)}`);
  }
} catch (error) {
  if (!CriError.is(error)) throw error;
  console.log(`No pods to list: ${error.message}`);
} finally {
  await runtime.close();
}
