// From packages/eviction/README.md, which explains the program.
import { EvictionManager, parseThresholds } from '@node-agent/eviction';
import { defaultPod, isCriticalPod, type Pod } from '@node-agent/pod-spec';

const MI = 2 ** 20;
const pod = (name: string): Pod =>
  defaultPod({
    metadata: { name, namespace: 'default', uid: name },
    spec: { containers: [{ name: 'main', image: 'busybox' }] },
  });
let active = [pod('hog'), pod('modest')];
const used = (name: string): number => (name === 'hog' ? 900 * MI : 20 * MI);
const ended = new AbortController();

const manager = new EvictionManager(
  {
    pods: {
      active: () => active,
      isCritical: isCriticalPod,
      async kill({ metadata }, { statusFn }) {
        active = active.filter(({ metadata: { uid } }) => uid !== metadata.uid);
        console.log(metadata.name, statusFn({}).message);
        ended.abort();
      },
      isGone: ({ metadata }) => !active.some(({ metadata: { uid } }) => uid === metadata.uid),
    },
    stats: {
      async summary() {
        const time = new Date().toISOString();
        const total = active.reduce((sum, { metadata }) => sum + used(metadata.name), 0);
        return {
          node: { memory: { time, availableBytes: 1000 * MI - total, workingSetBytes: total } },
          pods: active.map(({ metadata: { name, namespace, uid } }) => {
            const memory = { time, workingSetBytes: used(name) };
            return { podRef: { name, namespace, uid }, memory, containers: [{ name: 'main', memory }] };
          }),
        };
      },
    },
    disks: { layout: async () => ({ dedicatedImageFs: false, splitContainerFs: false }) },
    reclaim: { deleteUnusedContainers: async () => 0, deleteUnusedImages: async () => {} },
  },
  {
    nodeRef: { kind: 'Node', name: 'n1' },
    thresholds: parseThresholds({ evictionHard: { 'memory.available': '100Mi' } }),
  },
);
await manager.start(ended.signal);
console.log(manager.pressure());
