import type { Container, PodSpec } from '@node-agent/pod-spec';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** A pod that both kubelets run. */
export interface Case {
  readonly name: string;
  readonly spec: PodSpec;
  /** Containers that end and start again and again: where in that they are found is chance. */
  readonly loops?: readonly string[];
  /** It is a manifest of the node, shown by a mirror pod. */
  readonly isStatic?: boolean;
  /** What is done to it when half of the time is over and it has begun: arguments of kubectl, before the name of the pod. */
  readonly later?: readonly string[];
  /** It is kept when it is deleted, for its end to be seen. */
  readonly finalizers?: readonly string[];
}

/** A container that runs until it is ended. */
export function runs(overrides: Partial<Container> = {}): Container {
  return shell('trap "exit 0" TERM; sleep infinity & wait', overrides);
}

/** A container that runs a script. */
export function shell(script: string, overrides: Partial<Container> = {}): Container {
  const command = ['sh', '-c', script];
  return { name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent', command, ...overrides };
}

/** A pod of one container that runs. */
export function one(name: string, container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Case {
  return { name, spec: { containers: [runs(container)], ...spec } };
}

/** An image that no registry has, of a host that no resolver knows. */
export const ABSENT_IMAGE = 'node-agent.invalid/none:1';
