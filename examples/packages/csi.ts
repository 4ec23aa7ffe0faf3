// From packages/csi/README.md, which explains the program.
import { mkdtemp, rm } from 'node:fs/promises';
import { CsiNodeClient } from '@node-agent/csi';
import { FakeCsiDriver } from '@node-agent/csi/testing';

// Stands in for a real driver, whose socket is, for example, /var/lib/kubelet/plugins/hostpath.csi.k8s.io/csi.sock.
const directory = await mkdtemp('/tmp/csi-');
const driver = new FakeCsiDriver({ name: 'fake.csi.example.com', socketPath: `${directory}/csi.sock` });
await driver.start();

const client = new CsiNodeClient({}, { name: driver.name, socketPath: driver.socketPath });
const { signal } = new AbortController();
const capability = { access: { type: 'mount', fsType: 'ext4', mountFlags: [] }, accessMode: 'SINGLE_NODE_WRITER' } as const;
const volume = { volumeId: 'volume-1', capability, publishContext: {}, volumeContext: {}, secrets: {} };
const stagingTargetPath = `${directory}/staging`;
const targetPath = `${directory}/target`;
const { stageUnstage } = await client.capabilities(signal);
if (stageUnstage) await client.stageVolume({ ...volume, stagingTargetPath }, signal);
await client.publishVolume({ ...volume, stagingTargetPath, targetPath, readOnly: false }, signal);
console.log((await client.volumeStats('volume-1', targetPath, stagingTargetPath, signal)).usage);
await client.unpublishVolume('volume-1', targetPath, signal);
if (stageUnstage) await client.unstageVolume('volume-1', stagingTargetPath, signal);
client.close();
driver.stop();
await rm(directory, { recursive: true });
