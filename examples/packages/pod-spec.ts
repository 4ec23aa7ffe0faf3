// From packages/pod-spec/README.md, which explains the program.
import {
  checkPod,
  defaultPod,
  formatFieldError,
  parseImageReference,
  parseQuantity,
  podRequests,
  qosClass,
  validatePod,
} from '@node-agent/pod-spec';

const manifest = {
  metadata: { name: 'web', namespace: 'default', uid: '1' },
  spec: { containers: [{ name: 'web', image: 'nginx', resources: { limits: { cpu: 1.5, memory: '1.5Gi' } } }] },
};
console.log(checkPod({ ...manifest, sepc: {} }).map(formatFieldError));

const pod = defaultPod(JSON.parse(JSON.stringify(manifest)));
console.log(validatePod(pod).length, qosClass(pod), `${podRequests(pod).get('memory')}`);
console.log(parseImageReference('nginx'), parseQuantity('1.5Gi').value());
