// From packages/oom-watcher/README.md, which explains the program.
import os from 'node:os';
import { OomWatcher, openKmsg } from '@node-agent/oom-watcher';

let kills = 0;
const watcher = new OomWatcher(
  {
    open: openKmsg,
    uptimeMs: () => os.uptime() * 1000,
    onKill({ processName, pid, group }) {
      kills++;
      console.log(`${processName} (${pid}) in ${group}`);
    },
  },
  { nodeRef: { kind: 'Node', name: os.hostname() } },
);
await watcher.start(AbortSignal.timeout(2_000));
console.log(`${kills} processes were ended in the last ten minutes`);
