// From packages/stats/README.md, which explains the program.
import { statfs } from 'node:fs/promises';
import { readHierarchy } from '@node-agent/cm-cgroups';
import { CriClient } from '@node-agent/cri-client';
import { nodeFileSystem as fs, nodeKernelFiles as kernelFiles } from '@node-agent/host';
import { StatsProvider } from '@node-agent/stats';

await using cri = new CriClient({}, { endpoint: process.argv[2] ?? 'unix:///none', waitForRuntime: 'never' });
const disks = {
  async statfs(path: string) {
    const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
    const bytes = { totalBytes: bsize * blocks, freeBytes: bsize * bfree, availableBytes: bsize * bavail };
    return { ...bytes, inodes: files, freeInodes: ffree };
  },
};
const stats = new StatsProvider(
  { cri, fs, disks, cgroups: () => readHierarchy(fs), kernelFiles },
  { nodeName: 'demo', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' },
);
const text = await stats.cadvisorMetrics(AbortSignal.timeout(60_000));
console.log(text.split('\n').filter((line) => /^(machine_memory|container_scrape_error)/.test(line)).join('\n'));
