import type { Clock } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Systemd } from './systemd/systemd.ts';

/** What groups are made, filled and emptied with. */
export interface CgroupComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'writeFile' | 'mkdir' | 'readdir' | 'exists' | 'stat' | 'remove'>;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** `process.kill` of Node.js, or its like: throws with `code` ESRCH where the process has ended. */
  readonly kill: (pid: number, signal: 'SIGKILL') => unknown;
  /** Needed for the driver systemd; `DbusSystemd` is one. */
  readonly systemd?: Systemd;
}
