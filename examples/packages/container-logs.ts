// From packages/container-logs/README.md, which explains the program.
import { ContainerLogReader } from '@node-agent/container-logs';
import { MemoryFileSystem } from '@node-agent/host/testing';

const fs = new MemoryFileSystem();
await fs.mkdir('/logs');
await fs.writeFile('/logs/0.log.20260101-000000', '2026-01-01T00:00:00Z stdout F before the rotation\n');
await fs.writeFile('/logs/0.log', '2026-01-01T00:00:01Z stderr P in two \n2026-01-01T00:00:02Z stderr F parts\n');

// Asked only when a followed log is silent: whether its container still runs.
const cri = { containerStatus: async () => ({ status: null, info: {} }) };
const reader = new ContainerLogReader({ fs, cri });
const signal = new AbortController().signal;
for await (const { data } of reader.read('/logs/0.log', { tailLines: 3, timestamps: true }, signal)) {
  process.stdout.write(data);
}
