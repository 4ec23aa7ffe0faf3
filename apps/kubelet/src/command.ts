import { systemClock, systemRandom } from '@node-agent/async';
import {
  ConfigError,
  completionScript,
  completionShells,
  formatIssue,
  helpText,
  type LoadedConfiguration,
  loadKubeletConfig,
  readCommandLine,
} from '@node-agent/config';
import { nodeFileSystem } from '@node-agent/host';
import { createLogger, type Logger, LogLevelSwitch, levelOfVerbosity } from '@node-agent/telemetry';
import { readMachine } from './node/machine.ts';
import { Ending } from './process/ending.ts';
import { endingLogger } from './process/ending-logger.ts';
import { logOutput } from './process/log-output.ts';
import { operatorFiles } from './process/operator-files.ts';
import { Parts } from './process/parts.ts';
import { permissionProblem, withPermissionProblem } from './process/permissions.ts';
import { nameProcess } from './process/process-name.ts';
import { runNode } from './run-node.ts';
import { KUBELET_VERSION, rawVersion } from './version.ts';

/** Exit codes as upstream: 0 after a requested shutdown, 1 in every other case. */
const OK = 0;
const FAILED = 1;

/**
 * Runs the `kubelet` command and returns its exit code. SIGINT or SIGTERM starts a graceful shutdown of at most 15 s; a
 * second signal exits immediately. Pods keep running after the kubelet has exited.
 * @param argv the command line, without the program's name
 */
export async function runKubelet(argv: readonly string[]): Promise<number> {
  if (argv[0] === 'completion') return writeCompletion(argv.slice(1));
  try {
    const { flags, issues } = readCommandLine(argv);
    if (flags.help) {
      process.stdout.write(helpText(flags));
      return OK;
    }
    if (issues.length === 0 && flags.version !== 'false') {
      process.stdout.write(flags.version === 'raw' ? `${rawVersion()}\n` : `Kubernetes ${KUBELET_VERSION}\n`);
      return OK;
    }
    return await runWith(argv);
  } catch (err) {
    if (!ConfigError.is(err)) throw err;
    process.stderr.write(err.issues.map((issue) => `kubelet: ${formatIssue(issue)}\n`).join(''));
    const denied = withPermissionProblem(err, process.getuid?.());
    if (denied !== err) process.stderr.write(`kubelet: ${permissionProblem(process.getuid?.())}\n`);
    return FAILED;
  }
}

/** Writes the completion script of a shell: `kubelet completion bash`. */
function writeCompletion([shell, ...rest]: readonly string[]): number {
  const known = completionShells.find((name) => name === shell);
  if (known === undefined || rest.length > 0) {
    process.stderr.write(`kubelet: completion: must be followed by one of ${completionShells.join(', ')}\n`);
    return FAILED;
  }
  process.stdout.write(completionScript(known));
  return OK;
}

async function runWith(argv: readonly string[]): Promise<number> {
  const machine = await readMachine(nodeFileSystem);
  const workingDirectory = process.cwd();
  const load = () =>
    loadKubeletConfig({ argv, fs: operatorFiles, workingDirectory, cgroupVersion: machine.cgroupVersion });
  const loaded = await load();
  const { format, verbosity, vmodule } = loaded.configuration.logging;
  const output = logOutput(loaded.configuration.logging, process, systemClock);
  process.once('exit', () => output?.flush());
  const levels = new LogLevelSwitch(levelOfVerbosity(verbosity));
  const controller = new AbortController();
  const logger = endingLogger(
    await createLogger({
      ...{ format, level: levels, vmodule, now: () => systemClock.now() },
      ...(output && { write: (line, isError) => output.write(line, isError) }),
    }),
    controller.signal,
  );
  await nameProcess(
    nodeFileSystem,
    argv,
    (title) => {
      process.title = title;
    },
    logger,
  );
  logLoadedConfiguration(loaded, logger);
  const problem = permissionProblem(process.getuid?.());
  if (problem !== undefined) logger.error({ err: problem }, 'Kubelet running with insufficient permissions');

  const parts = new Parts();
  const ending = new Ending(
    {
      ...{ logger, parts },
      exit: (code) => process.exit(code),
      later: (delayMs, callback) => void setTimeout(callback, delayMs).unref(),
      active: () => process.getActiveResourcesInfo(),
    },
    controller,
  );
  const onSignal = (name: NodeJS.Signals): void => ending.onSignal(name);
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // Without a listener, SIGHUP would end the process.
  process.on('SIGHUP', () => {});
  const onHangUp = (listener: () => void): (() => void) => {
    process.on('SIGHUP', listener);
    return () => process.off('SIGHUP', listener);
  };
  try {
    await runNode(
      loaded,
      machine,
      {
        ...{ clock: systemClock, random: systemRandom, logger, levels, parts, onHangUp },
        reload: load,
        shutDown: (because) => ending.onSignal(because),
        onFailure: (err) => ending.onFailure(err),
      },
      controller.signal,
    );
    return OK;
  } catch (err) {
    if (controller.signal.aborted) return OK;
    ending.onFailure(withPermissionProblem(err, process.getuid?.()));
    return FAILED;
  }
}

function logLoadedConfiguration(loaded: LoadedConfiguration, logger: Logger): void {
  logger.info({ version: KUBELET_VERSION, pid: process.pid }, 'Kubelet version');
  for (const file of loaded.skippedFiles)
    logger.warn({ file }, 'Skipped drop-in configuration file: its name does not end in .conf');
  for (const warning of loaded.warnings) logger.warn({ warning: formatIssue(warning) }, 'Configuration');
}
