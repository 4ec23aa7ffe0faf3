import { execFile } from 'node:child_process';

/** Runs a program and waits for its exit. @throws Error if the program fails */
export type RunToEnd = (program: string, args: readonly string[]) => Promise<unknown>;

/**
 * SELinux label of files that unprivileged containers may use (`KubeletPluginsDirSELinuxLabel` of
 * `pkg/kubelet/config/defaults.go`).
 */
const LABEL = 'system_u:object_r:container_file_t:s0';
const TIMEOUT_MS = 10_000;

/** Sets the SELinux label of a directory, but not of its content. @throws Error with the output of chcon */
export async function labelForContainers(directory: string, run: RunToEnd = runToEnd): Promise<void> {
  await run('chcon', [LABEL, '--', directory]);
}

const runToEnd: RunToEnd = (program, args) =>
  new Promise((resolve, reject) => {
    execFile(program, args, { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' }, (err, _stdout, stderr) => {
      if (err === null) resolve(undefined);
      else reject(stderr === '' ? err : new Error(stderr.trim(), { cause: err }));
    });
  });
