// From packages/host/README.md, which explains the program.
import { type FileSystem, nodeFileSystem } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';

async function saveGreeting(fs: FileSystem, directory: string): Promise<void> {
  await fs.mkdir(directory, { mode: 0o750 });
  await fs.writeFileAtomic(`${directory}/greeting`, 'hello\n', { mode: 0o600 });
}

const memory = new MemoryFileSystem({}, { limitBytes: 1_000_000 });
await saveGreeting(memory, '/var/lib/demo');
console.log(memory.paths());

memory.injectFault({ operation: 'sync', code: 'EIO' });
await saveGreeting(memory, '/var/lib/demo').catch((error) => console.log(error.message));
console.log(await nodeFileSystem.exists('/proc/self'));
