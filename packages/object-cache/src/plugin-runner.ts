/** What a plugin is started with. */
export interface PluginRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: string;
}

/** What a plugin has printed, and how it ended. */
export interface PluginResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a plugin to its end, or kills it. @throws where it cannot be started; the signal's reason */
export type PluginRunner = (run: PluginRun, signal: AbortSignal) => Promise<PluginResult>;

/** Above this much on stdout a plugin is killed; of stderr, the end is kept. */
const STDOUT_LIMIT_CHARS = 10 * 2 ** 20;
const STDERR_LIMIT_CHARS = 8192;

/** Runs plugins as child processes. */
export const nodePluginRunner: PluginRunner = async ({ command, args, environment, stdin }, signal) => {
  const { spawn } = await import('node:child_process');
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: { ...environment }, stdio: 'pipe' });
    let stdout = '';
    let stderr = '';
    const fail = (reason: unknown): void => {
      signal.removeEventListener('abort', onAbort);
      child.kill('SIGKILL');
      reject(reason);
    };
    const onAbort = (): void => fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    child.on('error', fail);
    // Node makes no pipes where there is no file descriptor left for them.
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.length > STDOUT_LIMIT_CHARS) fail(new Error(`it printed more than ${STDOUT_LIMIT_CHARS} characters`));
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_LIMIT_CHARS);
    });
    // A plugin need not read its request: what it prints, and how it ends, counts.
    child.stdin?.on('error', () => {});
    child.stdin?.end(stdin);
    child.on('close', (code) => {
      signal.removeEventListener('abort', onAbort);
      // A signal's death has no exit code; a shell would say 128 and more.
      resolve({ exitCode: code ?? 128, stdout, stderr });
    });
  });
};
