// Verdicts on the fields of containers, their environment, probes and hooks.
import { files as t } from './tests.mjs';
import { others, partly, refused, works } from './verdicts.mjs';

const common = [
  works('args command', [t.container, 'describes the container, with variables expanded in its command']),
  works('env', [t.env, 'lets later declarations win, env over envFrom, and the container over services']),
  works('envFrom', [t.env, 'lets later declarations win, env over envFrom, and the container over services']),
  works('image', [t.hash, 'the hash depends exactly on name and image']),
  works('imagePullPolicy', [t.images, 'does not pull an image with policy Never']),
  works('name', [t.container, 'describes the container, with variables expanded in its command']),
  works('securityContext', [t.container, 'takes the container before the pod, and the pod before the image']),
  works('stdin stdinOnce tty', [t.container, 'describes the container, with variables expanded in its command']),
  works('terminationMessagePath', [t.lastWords, 'is what the container wrote into its file']),
  works('terminationMessagePolicy', [t.lastWords, 'is nothing with the policy File']),
  works('volumeDevices', [t.mounts, 'a volume that is read-only (%s) has the permissions %s']),
  works('volumeMounts', [t.mounts, 'mount paths and flags are copied from the volumeMounts']),
  works('workingDir', [t.container, 'describes the container, with variables expanded in its command']),
];

const selected = [t.env, 'reads keys, leaves optional ones out, and names what is missing'];

export const containers = {
  Container: [
    ...common,
    works('lifecycle', [t.podRuntime, 'a postStart hook delays the later containers, not the earlier ones']),
    works('livenessProbe', [
      t.probes,
      "R2: restarts a container whose liveness probe failed, within the probe's grace period",
    ]),
    works('readinessProbe', [t.prober, 'runs as soon as its container runs, then every period, and reports changes']),
    works('startupProbe', [t.probes, 'restarts a container whose startup probe has failed failureThreshold times']),
    works(
      'ports',
      [t.predicates, 'the same port'],
      [t.sandbox, 'maps ports by name, first come first served, and tells address families apart'],
    ),
    works('resizePolicy', [t.resizes, 'resizePolicy RestartContainer: restarts the container with its allocation']),
    works('resources', [t.resources, "takes the container's limit before the pod's"]),
    works(
      'restartPolicy restartPolicyRules',
      [t.actions, 'C6: the policy of the container wins over that of the pod'],
      [t.init, 'C4: the next one starts as soon as one runs'],
    ),
  ],
  EphemeralContainer: [
    ...common,
    others(
      'lifecycle livenessProbe readinessProbe startupProbe ports resources resizePolicy restartPolicy restartPolicyRules',
      'no component: the API server forbids the field for ephemeral containers, which never run twice',
    ),
    works('targetContainerName', [t.ephemeral, 'lets one see the processes of its target']),
  ],
  ContainerPort: [
    works('containerPort hostIP hostPort name protocol', [
      t.sandbox,
      'maps ports by name, first come first served, and tells address families apart',
    ]),
  ],
  ContainerResizePolicy: [
    works('resourceName restartPolicy', [
      t.resizes,
      'resizePolicy RestartContainer: restarts the container with its allocation',
    ]),
  ],
  ContainerRestartRule: [
    works('action', [t.actions, 'C6: the first matching rule wins, also over RestartAllContainers']),
    works('exitCodes', [t.actions, 'C6: NotIn matches what is not listed']),
  ],
  ContainerRestartRuleOnExitCodes: [works('operator values', [t.actions, 'C6: NotIn matches what is not listed'])],
  EnvVar: [
    works('name value', [t.env, 'expands what stands before, and services, and leaves the rest as it is']),
    works('valueFrom', selected),
  ],
  EnvVarSource: [
    works('configMapKeyRef secretKeyRef', selected),
    works('fieldRef', [t.env, 'fieldRef %s']),
    works('fileKeyRef', [t.env, 'takes variables from files, where an empty value is none']),
    works('resourceFieldRef', [t.env, 'resourceFieldRef %j']),
  ],
  ConfigMapKeySelector: [works('key name optional', selected)],
  SecretKeySelector: [works('key name optional', selected)],
  ObjectFieldSelector: [works('apiVersion fieldPath', [t.env, 'refuses fieldRef %s of %s'])],
  FileKeySelector: [
    works('key optional path volumeName', [t.env, 'takes variables from files, where an empty value is none']),
  ],
  ResourceFieldSelector: [works('containerName divisor resource', [t.env, 'resourceFieldRef %j'])],
  EnvFromSource: [
    works('configMapRef prefix secretRef', [
      t.env,
      'lets later declarations win, env over envFrom, and the container over services',
    ]),
  ],
  ConfigMapEnvSource: [works('name optional', selected)],
  SecretEnvSource: [works('name optional', selected)],
  Lifecycle: [
    works('postStart', [t.podRuntime, 'a postStart hook delays the later containers, not the earlier ones']),
    works('preStop', [t.kill, 'C5: runs within the grace period']),
    partly('stopSignal', 'needs the feature gate ContainerStopSignals, which is off by default, as in upstream', [
      t.container,
      'stops with %s where the pod asks for it and the gate is open',
    ]),
  ],
  LifecycleHandler: [
    works('exec', [t.hooks, 'runs the command in the container without a timeout']),
    works('httpGet', [
      t.hooks,
      'sends the request to the pod’s first address and the named port, and accepts any response',
    ]),
    works('sleep', [t.hooks, 'waits for its seconds']),
    refused('tcpSocket', 'invalid handler', 'the field is deprecated, and such a hook fails in upstream too', [
      t.hooks,
      '%j cannot be run, as in upstream',
    ]),
  ],
  ExecAction: [works('command', [t.probe, 'runs the command with the variables that have a literal value'])],
  HTTPGetAction: [
    works('host httpHeaders path port scheme', [
      t.hooks,
      'sends the request to a named host without reading the pod’s address',
    ]),
  ],
  HTTPHeader: [works('name value', [t.hooks, 'sends the request to a named host without reading the pod’s address'])],
  SleepAction: [works('seconds', [t.hooks, 'ends immediately for 0 seconds'])],
  TCPSocketAction: [works('host port', [t.probe, 'is the pod, or the specified host, for tcp'])],
  GRPCAction: [works('port service', [t.probe, 'is the pod with the service name for grpc'])],
  Probe: [
    works('exec', [t.probe, 'runs the command with the variables that have a literal value']),
    works('grpc', [t.probe, 'is the pod with the service name for grpc']),
    works('httpGet', [t.probe, 'is a new request for http']),
    works('tcpSocket', [t.probe, 'is the pod, or the specified host, for tcp']),
    works('failureThreshold successThreshold', [
      t.probeWorker,
      'R2: changes the result only after as many consecutive outcomes as the threshold requires',
    ]),
    works('initialDelaySeconds', [
      t.prober,
      'runs the first probe when initialDelaySeconds has passed, not a period later',
    ]),
    works(
      'periodSeconds timeoutSeconds',
      [t.prober, 'runs as soon as its container runs, then every period, and reports changes'],
      [t.probeRules, 'are those of the spec, or upstream’s defaults'],
    ),
    works('terminationGracePeriodSeconds', [t.kill, 'is what the liveness probe says when it failed']),
  ],
};
