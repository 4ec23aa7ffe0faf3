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
  /** It is made when half of the time is over: the others run by then. */
  readonly isLate?: boolean;
  /** Of its own, beside its name. */
  readonly labels?: Readonly<Record<string, string>>;
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

/** A script that serves on port 8080, and then waits until it is told to end: `hi` at `/`, and what its files below `/cgi-bin` answer. */
export const SERVE: string = `${[
  'mkdir -p /www/dir /www/cgi-bin',
  'echo hi >/www/index.html',
  'httpd -p 8080 -h /www',
  'yes | head -c 20000 >/www/large',
  ...Object.entries({
    slow: 'sleep 5',
    unavailable: 'echo "Status: 503 Away"; echo; echo not now',
    away: 'echo "Status: 302 Found"; echo "Location: http://192.0.2.1/"; echo',
    agent: 'test "$HTTP_USER_AGENT" = compared || echo "Status: 403 No"; echo; echo "$HTTP_USER_AGENT"',
  }).map(([name, script]) => `printf '%s\\n' '#!/bin/sh' '${script}' >/www/cgi-bin/${name}`),
  'chmod 755 /www/cgi-bin/*',
].join('; ')}; trap "exit 0" TERM; sleep infinity & wait`;

/** An image that no registry has, of a host that no resolver knows. */
export const ABSENT_IMAGE = 'node-agent.invalid/none:1';

/** Resources that only the API server has heard of: of the one each node has two, of the other one. */
export const EXTENDED = { scarce: 'example.com/scarce', rare: 'example.com/rare' } as const;
