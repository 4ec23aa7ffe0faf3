// From packages/admission/README.md, which explains the program.
import { predicateHandler } from '@node-agent/admission';

const node = { metadata: { name: 'n1' }, status: { allocatable: { pods: '110', cpu: '2', memory: '4Gi' } } };
const handler = predicateHandler({ node: () => node });
const pod = (name: string, cpu: string) => ({
  metadata: { name, namespace: 'default', uid: name },
  spec: { containers: [{ name: 'main', image: 'busybox', resources: { requests: { cpu } } }] },
});
console.log(await handler.admit(pod('small', '500m'), [])); // { admit: true }
console.log(await handler.admit(pod('big', '2'), [pod('small', '500m')]));
// { admit: false, reason: 'OutOfcpu', message: "Node didn't have enough resource: cpu, requested: 2000, used: 500, capacity: 2000" }
