import type { PodSandboxConfig } from '@node-agent/cri-client';
import { BEHAVIOUR_ANNOTATION, type Behaviour, parseBehaviour } from '../behaviour.ts';
import { behaviourProgram, scriptedExec } from '../process/behaviour-program.ts';
import { commandProgram } from '../process/command.ts';
import type { Program } from '../process/process.ts';
import { failure } from './failure.ts';
import type { ContainerRecord, RuntimeState } from './state.ts';

/** The program that a container will run, or the reason why it cannot be started. */
export type ChosenProgram = { readonly behaviour: Behaviour } & (
  | { readonly program: Program }
  | { readonly program: undefined; readonly refusal: string }
);

/**
 * Chooses what a container does. Order of precedence: the script, the container's annotation, the pod's annotation, the
 * image's behaviour, the command. An unknown command runs until the container is stopped.
 */
export function chooseProgram(
  state: RuntimeState,
  container: ContainerRecord,
  sandboxConfig: PodSandboxConfig,
): ChosenProgram {
  const image = state.images.find(container.imageId)?.image;
  const annotation =
    container.config.annotations[BEHAVIOUR_ANNOTATION] ?? sandboxConfig.annotations[BEHAVIOUR_ANNOTATION];
  const scripted =
    state.script({
      id: container.id,
      name: container.metadata.name,
      attempt: container.metadata.attempt,
      image: container.config.image?.userSpecifiedImage || (container.config.image?.image ?? ''),
      command: container.argv,
      config: container.config,
      sandboxConfig,
    }) ??
    (annotation === undefined ? undefined : readAnnotation(annotation)) ??
    image?.behaviour;
  const behaviour = scripted ?? {};
  if (behaviour.startError !== undefined) return { behaviour, program: undefined, refusal: behaviour.startError };
  if (scripted !== undefined && saysWhatRuns(scripted)) {
    if (scripted.oomKilled === true) container.deathReason = 'OOMKilled';
    return { behaviour, program: behaviourProgram(scripted) };
  }
  const program = commandProgram(container.argv);
  if (program !== undefined) return { behaviour, program };
  if (image?.strict !== true) return { behaviour, program: behaviourProgram(behaviour) };
  const refusal = `failed to create shim task: OCI runtime create failed: ${notFound(container.argv[0])}`;
  return { behaviour, program: undefined, refusal };
}

/**
 * Returns the program of a command that is run in a container.
 * @throws UNKNOWN if the container does not have the command
 */
export function chooseExecProgram(container: ContainerRecord, command: readonly string[]): Program {
  const program = scriptedExec(container.behaviour, command) ?? commandProgram(command);
  if (program !== undefined) return program;
  throw failure('UNKNOWN', `failed to exec in container: OCI runtime exec failed: ${notFound(command[0])}`);
}

/** Reports whether a behaviour defines how the container runs, and not only its start, exec results or stats. */
function saysWhatRuns(behaviour: Behaviour): boolean {
  return (
    behaviour.program !== undefined ||
    behaviour.exitAfterMs !== undefined ||
    behaviour.output !== undefined ||
    behaviour.ignoreTerm !== undefined ||
    behaviour.stopDelayMs !== undefined ||
    behaviour.termExitCode !== undefined
  );
}

function readAnnotation(json: string): Behaviour {
  try {
    return parseBehaviour(json);
  } catch (error) {
    throw failure('INVALID_ARGUMENT', error instanceof Error ? error.message : String(error));
  }
}

function notFound(executable: string = ''): string {
  return `unable to start container process: exec: "${executable}": executable file not found in $PATH`;
}
