import type { Clock } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Systemd } from './systemd/systemd.ts';

/** Dependencies of the cgroup managers. */
export interface CgroupComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'writeFile' | 'mkdir' | 'readdir' | 'exists' | 'stat' | 'remove'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /**
   * Sends a signal: `process.kill` of Node.js or an equivalent. Throws an error with `code` ESRCH if the process has
   * exited.
   */
  readonly kill: (pid: number, signal: 'SIGKILL') => unknown;
  /** Required for the driver systemd. `DbusSystemd` implements it. */
  readonly systemd?: Systemd;
}
