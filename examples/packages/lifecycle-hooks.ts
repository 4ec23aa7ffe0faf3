// From packages/lifecycle-hooks/README.md, which explains the program.
import { LifecycleHooks } from '@node-agent/lifecycle-hooks';

const hooks = new LifecycleHooks({
  // In a kubelet this is the runtime's ExecSync.
  exec: async (containerId, command) => {
    console.log(`in ${containerId}: ${command.join(' ')}`);
    return { exitCode: command[0] === 'false' ? 1 : 0, stdout: new Uint8Array(), stderr: new Uint8Array() };
  },
  podIps: async () => ['127.0.0.1'],
});
const container = { name: 'web', image: 'nginx' };
const pod = { metadata: { name: 'web', namespace: 'default', uid: '42' }, spec: { containers: [container] } };
const { signal } = new AbortController();

await hooks.postStart(pod, container, 'c1', { exec: { command: ['touch', '/started'] } }, signal);
await hooks.preStop(pod, container, 'c1', { sleep: { seconds: 0 } }, 30_000, signal);
await hooks.preStop(pod, container, 'c1', { exec: { command: ['false'] } }, 30_000, signal).catch((error) => {
  console.log(error.message);
});
