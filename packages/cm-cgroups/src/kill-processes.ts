import { errorCode } from '@node-agent/host';
import type { CgroupComponents } from './manager-components.ts';

/** Kills processes; one that ended meanwhile is as good. What cannot be killed shows when its group is removed. */
export function killProcesses(pids: readonly number[], kill: CgroupComponents['kill']): void {
  for (const pid of pids) {
    try {
      kill(pid, 'SIGKILL');
    } catch (err) {
      if (errorCode(err) !== 'ESRCH' && errorCode(err) !== 'EPERM') throw err;
    }
  }
}
