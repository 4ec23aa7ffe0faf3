import type { Container, PodSpec } from '@node-agent/pod-spec';
import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** Pod that both kubelets run. */
export interface Case {
  readonly name: string;
  readonly spec: PodSpec;
  /**
   * Containers that exit and restart repeatedly. Their values that depend on the moment of observation are not
   * compared.
   */
  readonly loops?: readonly string[];
  /** Whether the pod is a static pod from a manifest, which the API shows as a mirror pod. */
  readonly isStatic?: boolean;
  /** kubectl arguments, without the pod's name, that are run on the pod halfway through the running time, after it has started. */
  readonly later?: readonly string[];
  /** Whether the pod never starts, so that the change in `later` does not wait for the pod's start. */
  readonly neverStarts?: boolean;
  /** Whether the pod is created halfway through the running time, when the other pods already run. */
  readonly isLate?: boolean;
  /** Labels of the pod in addition to the label with the pod's name. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Finalizers that keep the pod after its deletion, so that its final state can be compared. */
  readonly finalizers?: readonly string[];
}

/** Text in a spec that stands for the name of the side's node and namespace. */
export const SIDE = '$(COMPARED_SIDE)';

/** Returns a container that runs until the kubelet stops it. */
export function runs(overrides: Partial<Container> = {}): Container {
  return shell('trap "exit 0" TERM; sleep infinity & wait', overrides);
}

/** Returns a container that runs a shell script. */
export function shell(script: string, overrides: Partial<Container> = {}): Container {
  const command = ['sh', '-c', script];
  return { name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent', command, ...overrides };
}

/** Returns a pod with one running container. */
export function one(name: string, container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Case {
  return { name, spec: { containers: [runs(container)], ...spec } };
}

/** Script that serves HTTP on port 8080 until the kubelet stops it: `hi` at `/`, and CGI programs below `/cgi-bin`. */
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

/** Image that does not exist; the registry's host name cannot be resolved. */
export const ABSENT_IMAGE = 'node-agent.invalid/none:1';

/** Extended resources that are set through the API only. Each node has two of `scarce` and one of `rare`. */
export const EXTENDED = { scarce: 'example.com/scarce', rare: 'example.com/rare' } as const;
