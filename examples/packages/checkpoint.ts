// From packages/checkpoint/README.md, which explains the program.
import { CheckpointStore } from '@node-agent/checkpoint';
import { MemoryFileSystem } from '@node-agent/host/testing';

const fs = new MemoryFileSystem();
const store = new CheckpointStore({ fs }, { directory: '/var/lib/demo' });
await store.removeLeftovers();
await store.create('allocations', { 'pod-a': ['cpu0', 'cpu1'] });
console.log(await store.list(), await store.get('allocations'));

await fs.writeFile('/var/lib/demo/allocations', '{"pod-a":["cpu0"],"checksum":1}');
await store.get('allocations').catch((error) => console.log(error.code, error.message));
