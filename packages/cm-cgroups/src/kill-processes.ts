import { errorCode } from '@node-agent/host';
import type { CgroupComponents } from './manager-components.ts';

/**
 * Kills processes. Processes that have already exited are ignored; a process that cannot be killed makes the removal of
 * its cgroup fail.
 */
export function killProcesses(pids: readonly number[], kill: CgroupComponents['kill']): void {
  for (const pid of pids) {
    try {
      kill(pid, 'SIGKILL');
    } catch (err) {
      if (errorCode(err) !== 'ESRCH' && errorCode(err) !== 'EPERM') throw err;
    }
  }
}
