// From packages/kubelet-core/README.md, which explains the program.
import { pastActiveDeadline, unsupportedFeatureHandler } from '@node-agent/kubelet-core';

const pod = {
  metadata: { name: 'batch', namespace: 'default', uid: '1' },
  spec: { activeDeadlineSeconds: 60, containers: [{ name: 'main', livenessProbe: { exec: { command: ['true'] } } }] },
};
const startedAt = Date.UTC(2026, 0, 1);
const status = { startTime: new Date(startedAt).toISOString() };
console.log('after 59 s:', pastActiveDeadline(pod, status, startedAt + 59_000));
console.log('after 60 s:', pastActiveDeadline(pod, status, startedAt + 60_000));

const handler = unsupportedFeatureHandler({
  probes: false,
  lifecycleHooks: true,
  userNamespaces: true,
  resourceClaims: true,
});
console.log(handler.admit(pod));
