import { readFile, rename, writeFile } from 'node:fs/promises';

/** Things that a running cluster has created or changed outside of its directory and namespaces. */
export interface ClusterState {
  /** Process of the command, with its start time in kernel ticks, because process IDs are reused. */
  readonly pid: number;
  readonly startTime: string;
  /** Whether the directory is kept at the end. */
  readonly keeps: boolean;
  /** The cluster's subnet, to which the firewall rules refer. */
  readonly subnet: string;
  /** Directories that the cluster created as mount points. */
  readonly mountPoints: readonly string[];
  /** Values of kernel settings before the start, by path below `/proc/sys`. */
  readonly kernelSettings: Readonly<Record<string, string>>;
}

/** Returns the state in a text, or `undefined` if the text is not a state. */
export function parseState(text: string): ClusterState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // The file is incomplete if the machine stopped while it was written.
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { pid, startTime, keeps, subnet, mountPoints, kernelSettings } = value as Partial<ClusterState>;
  const isState =
    Number.isInteger(pid) &&
    typeof startTime === 'string' &&
    typeof keeps === 'boolean' &&
    typeof subnet === 'string' &&
    Array.isArray(mountPoints) &&
    mountPoints.every((path) => typeof path === 'string') &&
    typeof kernelSettings === 'object' &&
    kernelSettings !== null &&
    Object.values(kernelSettings).every((setting) => typeof setting === 'string');
  return isState ? (value as ClusterState) : undefined;
}

/** Reads the state of a cluster; `undefined` if there is none. @throws Error if the file is not a state */
export async function readState(file: string): Promise<ClusterState | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const state = parseState(text);
  if (state === undefined)
    throw new Error(`read ${file}: must be the state of a cluster; if no cluster runs, remove the file`);
  return state;
}

/** Writes the state of a cluster. */
export async function writeState(file: string, state: ClusterState): Promise<void> {
  // The file is flushed before the rename, so that after a crash of the machine it contains the old or the new state.
  await writeFile(`${file}.new`, JSON.stringify(state, undefined, 2), { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}

/** Returns the start time of a process in kernel ticks, or `undefined` if there is no such process. */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The fields follow the process name in parentheses, which may itself contain any characters.
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}
