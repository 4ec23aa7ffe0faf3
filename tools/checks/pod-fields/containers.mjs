// Verdicts on the fields of containers, their environment, probes and hooks.
import { files as t } from './tests.mjs';
import { others, partly, refused, works } from './verdicts.mjs';

const common = [
  works('args command', [
    t.container,
    'the container config has image, command and environment, with variables expanded in the command',
  ]),
  works('env', [
    t.env,
    "later declarations of a variable take precedence, env over envFrom, and the container's over service variables",
  ]),
  works('envFrom', [
    t.env,
    "later declarations of a variable take precedence, env over envFrom, and the container's over service variables",
  ]),
  works('image', [t.hash, 'the container hash depends exactly on name and image']),
  works('imagePullPolicy', [t.images, 'does not pull an image with policy Never']),
  works('name', [
    t.container,
    'the container config has image, command and environment, with variables expanded in the command',
  ]),
  works('securityContext', [
    t.container,
    "the security context of the container takes precedence over the pod's, and the pod's over the image's user",
  ]),
  works('stdin stdinOnce tty', [
    t.container,
    'the container config has image, command and environment, with variables expanded in the command',
  ]),
  works('terminationMessagePath', [t.lastWords, 'the termination message is what the container wrote into its file']),
  works('terminationMessagePolicy', [
    t.lastWords,
    'the termination message is empty with the policy File and an empty file',
  ]),
  works('volumeDevices', [t.mounts, 'a block device of a volume with readOnly %s has the permissions %s']),
  works('volumeMounts', [t.mounts, 'container mounts get their paths and flags from the volumeMounts']),
  works('workingDir', [
    t.container,
    'the container config has image, command and environment, with variables expanded in the command',
  ]),
];

const selected = [t.env, 'reads variables from keys, omits missing optional keys, and names missing required ones'];

export const containers = {
  Container: [
    ...common,
    works('lifecycle', [t.podRuntime, 'a running postStart hook delays the start of later containers only']),
    works('livenessProbe', [
      t.probes,
      "R2: restarts a container whose liveness probe failed, within the probe's grace period",
    ]),
    works('readinessProbe', [
      t.prober,
      'a readiness probe runs as soon as its container runs, then every period, and reports changes',
    ]),
    works('startupProbe', [t.probes, 'restarts a container whose startup probe has failed failureThreshold times']),
    works(
      'ports',
      [t.predicates, 'the same port'],
      [t.sandbox, 'a sandbox has one port mapping for each port name, and one for each host IP of an unnamed port'],
    ),
    works('resizePolicy', [
      t.resizes,
      'a resize with resizePolicy RestartContainer restarts the container with the new resources',
    ]),
    works('resources', [t.resources, "the huge page limit of the container takes precedence over the pod's"]),
    works(
      'restartPolicy restartPolicyRules',
      [t.actions, "C6: the restartPolicy of the container takes precedence over the pod's"],
      [t.init, 'C4: the next sidecar starts as soon as the previous one runs'],
    ),
  ],
  EphemeralContainer: [
    ...common,
    others(
      'lifecycle livenessProbe readinessProbe startupProbe ports resources resizePolicy restartPolicy restartPolicyRules',
      'no component: the API server forbids the field for ephemeral containers, which never run twice',
    ),
    works('targetContainerName', [t.ephemeral, 'an ephemeral container sees the processes of its target container']),
  ],
  ContainerPort: [
    works('containerPort hostIP hostPort name protocol', [
      t.sandbox,
      'a sandbox has one port mapping for each port name, and one for each host IP of an unnamed port',
    ]),
  ],
  ContainerResizePolicy: [
    works('resourceName restartPolicy', [
      t.resizes,
      'a resize with resizePolicy RestartContainer restarts the container with the new resources',
    ]),
  ],
  ContainerRestartRule: [
    works('action', [t.actions, 'C6: the first matching restart rule decides, even before RestartAllContainers']),
    works('exitCodes', [t.actions, 'C6: NotIn matches an exit code that is not listed']),
  ],
  ContainerRestartRuleOnExitCodes: [
    works('operator values', [t.actions, 'C6: NotIn matches an exit code that is not listed']),
  ],
  EnvVar: [
    works('name value', [t.env, 'expands references to earlier variables and services, and keeps other references']),
    works('valueFrom', selected),
  ],
  EnvVarSource: [
    works('configMapKeyRef secretKeyRef', selected),
    works('fieldRef', [t.env, 'the variable with fieldRef %s has the value %j']),
    works('fileKeyRef', [
      t.env,
      'reads variables from files; an empty value counts as missing, which is an error unless the reference is optional',
    ]),
    works('resourceFieldRef', [t.env, 'the variable with resourceFieldRef %j has the value %s']),
  ],
  ConfigMapKeySelector: [works('key name optional', selected)],
  SecretKeySelector: [works('key name optional', selected)],
  ObjectFieldSelector: [
    works('apiVersion fieldPath', [t.env, 'refuses a variable with fieldRef %s of API version %s: %s']),
  ],
  FileKeySelector: [
    works('key optional path volumeName', [
      t.env,
      'reads variables from files; an empty value counts as missing, which is an error unless the reference is optional',
    ]),
  ],
  ResourceFieldSelector: [
    works('containerName divisor resource', [t.env, 'the variable with resourceFieldRef %j has the value %s']),
  ],
  EnvFromSource: [
    works('configMapRef prefix secretRef', [
      t.env,
      "later declarations of a variable take precedence, env over envFrom, and the container's over service variables",
    ]),
  ],
  ConfigMapEnvSource: [works('name optional', selected)],
  SecretEnvSource: [works('name optional', selected)],
  Lifecycle: [
    works('postStart', [t.podRuntime, 'a running postStart hook delays the start of later containers only']),
    works('preStop', [t.kill, 'C5: a preStop hook runs within the grace period']),
    partly('stopSignal', 'needs the feature gate ContainerStopSignals, which is off by default, as in upstream', [
      t.container,
      'the container config has the stop signal %s if the spec sets it and the feature gate is on',
    ]),
  ],
  LifecycleHandler: [
    works('exec', [t.hooks, 'an exec hook runs the command in the container without a timeout']),
    works('httpGet', [
      t.hooks,
      'an httpGet hook sends the request to the pod’s first IP and the named port, and accepts any response',
    ]),
    works('sleep', [t.hooks, 'a sleep hook waits for the configured seconds']),
    refused('tcpSocket', 'invalid handler', 'the field is deprecated, and such a hook fails in upstream too', [
      t.hooks,
      'the hook %j cannot be run, as in upstream',
    ]),
  ],
  ExecAction: [
    works('command', [
      t.probe,
      "an exec probe runs the command with the container's environment variables that have a literal value",
    ]),
  ],
  HTTPGetAction: [
    works('host httpHeaders path port scheme', [
      t.hooks,
      'an httpGet hook sends the request to a named host without reading the pod’s IP',
    ]),
  ],
  HTTPHeader: [
    works('name value', [t.hooks, 'an httpGet hook sends the request to a named host without reading the pod’s IP']),
  ],
  SleepAction: [works('seconds', [t.hooks, 'a sleep hook of 0 seconds ends immediately'])],
  TCPSocketAction: [
    works('host port', [t.probe, 'a tcpSocket probe connects to the pod or to the host that it names']),
  ],
  GRPCAction: [works('port service', [t.probe, 'a grpc probe calls the pod with the service name'])],
  Probe: [
    works('exec', [
      t.probe,
      "an exec probe runs the command with the container's environment variables that have a literal value",
    ]),
    works('grpc', [t.probe, 'a grpc probe calls the pod with the service name']),
    works('httpGet', [t.probe, 'each attempt of an httpGet probe sends a new request']),
    works('tcpSocket', [t.probe, 'a tcpSocket probe connects to the pod or to the host that it names']),
    works('failureThreshold successThreshold', [
      t.probeWorker,
      'R2: a probe result changes only after as many consecutive outcomes as the threshold requires',
    ]),
    works('initialDelaySeconds', [
      t.prober,
      'the first probe runs when initialDelaySeconds has passed and not a period later',
    ]),
    works(
      'periodSeconds timeoutSeconds',
      [t.prober, 'a readiness probe runs as soon as its container runs, then every period, and reports changes'],
      [t.probeRules, 'period, timeout and delays of a probe come from its spec, with upstream’s defaults'],
    ),
    works('terminationGracePeriodSeconds', [t.kill, 'terminationGracePeriodSeconds of a failed liveness probe']),
  ],
};
