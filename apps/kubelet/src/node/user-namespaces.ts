import { execFile } from 'node:child_process';
import type { KubeletConfiguration } from '@node-agent/config';
import type { FileSystem } from '@node-agent/host';
import type { AssemblySettings } from '@node-agent/kubelet-assembly';
import { DEFAULT_IDS_PER_POD, kubeletIdRange } from '@node-agent/userns';

/**
 * Timeout of `getent` and `getsubids`, which may query a remote user directory. After a timeout, the kubelet does not
 * start.
 */
const TIMEOUT_MS = 30_000;
/** Exit code of `getent` if the name does not exist. */
const NOT_FOUND = 2;

/** Runs a program until it exits. Returns `undefined` if the program does not exist. */
type Run = (
  program: string,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string } | undefined>;

/**
 * Returns the ID range for pods with user namespaces, or the reason why user namespaces are unavailable. @throws Error
 * if an ID range is configured but invalid
 */
export async function userNamespaceSettings(
  { userNamespaces, maxPods }: Pick<KubeletConfiguration, 'userNamespaces' | 'maxPods'>,
  { fs, run = runProgram }: { readonly fs: Pick<FileSystem, 'readFile'>; readonly run?: Run },
  signal: AbortSignal,
): Promise<NonNullable<AssemblySettings['userNamespaces']>> {
  const problem = await kernelProblem(fs);
  if (problem !== undefined) return { unavailable: problem };
  const idsPerPod = userNamespaces?.idsPerPod ?? DEFAULT_IDS_PER_POD;
  const ended = async (program: string, args: readonly string[], ending: AbortSignal) => {
    const result = await run(program, args, ending);
    if (result !== undefined && result.exitCode !== 0 && !(program === 'getent' && result.exitCode === NOT_FOUND)) {
      throw new Error(`${[program, ...args].join(' ')}: exit code ${result.exitCode}: ${result.stderr.trim()}`);
    }
    return result;
  };
  const range = await kubeletIdRange(
    {
      async userExists(name, ending) {
        const found = await ended('getent', ['passwd', name], ending);
        if (found !== undefined) return found.exitCode === 0;
        const users = new TextDecoder().decode(await fs.readFile('/etc/passwd'));
        return users.split('\n').some((line) => line.startsWith(`${name}:`));
      },
      run: async (program, args, ending) => (await ended(program, args, ending))?.stdout,
    },
    idsPerPod,
    signal,
  );
  return { range, idsPerPod, maxPods };
}

/** Returns why the kernel does not provide user namespaces, or `undefined` if it does. */
async function kernelProblem(fs: Pick<FileSystem, 'readFile'>): Promise<string | undefined> {
  const path = '/proc/sys/user/max_user_namespaces';
  try {
    const most = Number(new TextDecoder().decode(await fs.readFile(path)).trim());
    return most === 0 ? `user namespaces are disabled: ${path} is 0` : undefined;
  } catch {
    return `the kernel does not support user namespaces: ${path} does not exist`;
  }
}

const runProgram: Run = (program, args, signal) =>
  new Promise((resolve, reject) => {
    execFile(program, args, { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', signal }, (err, stdout, stderr) => {
      if (err === null) return resolve({ exitCode: 0, stdout, stderr });
      if (err.code === 'ENOENT') return resolve(undefined);
      if (typeof err.code === 'number') return resolve({ exitCode: err.code, stdout, stderr });
      reject(err);
    });
  });
