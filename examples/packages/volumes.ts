// From packages/volumes/README.md, which explains the program.
import { mkdtemp, rm } from 'node:fs/promises';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem, nodeForeignFiles } from '@node-agent/host';
import { EmptyDirPlugin, HostPathPlugin, MountCommand, PodPaths, projectionPlugins, VolumeManager } from '@node-agent/volumes';

const root = await mkdtemp('/tmp/kubelet-');
const fs = nodeFileSystem;
const paths = new PodPaths(root);
const mounter = new MountCommand({ fs, clock: systemClock });
const limits = { allocatableMemoryBytes: 2 ** 30 };
const objects = {
  getConfigMap: async () => ({ data: { 'app.conf': 'verbose = true' } }),
  getSecret: async () => undefined, // no such secret
};
const sources = { objects, nodeAllocatable: () => ({ cpu: '4' }) };
const foreignFiles = nodeForeignFiles({ clock: systemClock });
const plugins = [
  new EmptyDirPlugin({ fs, mounter, paths }, limits),
  new HostPathPlugin({ foreignFiles }),
  ...projectionPlugins({ fs, mounter, paths, sources }, limits),
];
const volumes = new VolumeManager({ fs, foreignFiles, mounter, paths, plugins });

const volumeMounts = [
  { name: 'scratch', mountPath: '/scratch' },
  { name: 'conf', mountPath: '/etc/app' },
];
const container = { name: 'main', volumeMounts };
const pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'c0ffee' },
  spec: { containers: [container], volumes: [{ name: 'scratch', emptyDir: {} }, { name: 'conf', configMap: { name: 'app' } }] },
};
const { signal } = new AbortController();
await volumes.makePodDataDirs(pod.metadata.uid);
await volumes.waitForAttachAndMount(pod, signal);
console.log(await volumes.containerMounts(pod, container, [], signal));
await volumes.waitForUnmount(pod, signal);
console.log('anything left:', await volumes.podVolumesExist(pod.metadata.uid));
await rm(root, { recursive: true });
