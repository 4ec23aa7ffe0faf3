// Verdicts on the fields of containers, their environment, probes and hooks.
import { files as t } from './tests.mjs';
import { others, partly, refused, works } from './verdicts.mjs';

const common = [
  works('args command', [t.container, 'describes the container, with variables expanded in its command']),
  works('env', [t.env, 'lets later declarations win, env over envFrom, and the container over services']),
  works('envFrom', [t.env, 'lets later declarations win, env over envFrom, and the container over services']),
  works('image', [t.hash, 'only name and image count, and each of them does']),
  works('imagePullPolicy', [t.images, 'does not pull an image with policy Never']),
  works('name', [t.container, 'describes the container, with variables expanded in its command']),
  works('securityContext', [t.container, 'takes the container before the pod, and the pod before the image']),
  works('stdin stdinOnce tty', [t.container, 'describes the container, with variables expanded in its command']),
  works('terminationMessagePath', [t.lastWords, 'is what the container wrote into its file']),
  works('terminationMessagePolicy', [t.lastWords, 'is nothing with the policy File']),
  refused(
    'volumeDevices',
    'block volume "b" is not supported by this kubelet',
    'block volumes are not implemented yet',
    [t.mounts, 'names what each kind of container asks for'],
  ),
  works('volumeMounts', [t.mounts, 'takes paths and flags over']),
  works('workingDir', [t.container, 'describes the container, with variables expanded in its command']),
];

const selected = [t.env, 'reads keys, leaves optional ones out, and names what is missing'];

export const containers = {
  Container: [
    ...common,
    works('lifecycle', [t.podRuntime, 'a postStart hook holds back the containers behind it, not those before it']),
    works('livenessProbe', [
      t.probes,
      'R2: a container that fails its liveness probe is ended within the grace period of the probe, and begins anew',
    ]),
    works('readinessProbe', [
      t.prober,
      'is made as soon as its container runs, then every period, and what changes is told',
    ]),
    works('startupProbe', [
      t.probes,
      'a container that never starts is restarted when its startup probe has failed often enough',
    ]),
    works(
      'ports',
      [t.predicates, 'the same port'],
      [t.sandbox, 'maps ports by name, first come first served, and tells address families apart'],
    ),
    works('resizePolicy', [
      t.resizes,
      'resizePolicy RestartContainer: it begins anew with what it was granted, and its pod is as large',
    ]),
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
    works('targetContainerName', [t.ephemeral, 'one sees the processes of its target']),
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
      'resizePolicy RestartContainer: it begins anew with what it was granted, and its pod is as large',
    ]),
  ],
  ContainerRestartRule: [
    works('action', [t.actions, 'C6: the first rule that matches wins, also over RestartAllContainers']),
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
    works('postStart', [t.podRuntime, 'a postStart hook holds back the containers behind it, not those before it']),
    works('preStop', [t.kill, 'C5: runs within the grace period']),
    partly('stopSignal', 'needs the feature gate ContainerStopSignals, which is off by default, as in upstream', [
      t.container,
      'stops with %s where the pod asks for it and the gate is open',
    ]),
  ],
  LifecycleHandler: [
    works('exec', [t.hooks, 'is run in the container, without a limit of its own']),
    works('httpGet', [t.hooks, 'goes to the pod’s first address and to the port by its name, whatever is answered']),
    works('sleep', [t.hooks, 'takes its time']),
    refused('tcpSocket', 'invalid handler', 'the field is deprecated, and such a hook fails in upstream too', [
      t.hooks,
      '%j cannot be run, as upstream’s cannot',
    ]),
  ],
  ExecAction: [works('command', [t.probe, 'runs the command with the variables that have a value of their own'])],
  HTTPGetAction: [
    works('host httpHeaders path port scheme', [
      t.hooks,
      'goes to the host that it names, without asking for the pod’s address',
    ]),
  ],
  HTTPHeader: [works('name value', [t.hooks, 'goes to the host that it names, without asking for the pod’s address'])],
  SleepAction: [works('seconds', [t.hooks, 'of no time is over at once'])],
  TCPSocketAction: [works('host port', [t.probe, 'the pod, or the host that it names, for tcp'])],
  GRPCAction: [works('port service', [t.probe, 'the pod for grpc, with the name of the service'])],
  Probe: [
    works('exec', [t.probe, 'runs the command with the variables that have a value of their own']),
    works('grpc', [t.probe, 'the pod for grpc, with the name of the service']),
    works('httpGet', [t.probe, 'a request of its own for http']),
    works('tcpSocket', [t.probe, 'the pod, or the host that it names, for tcp']),
    works('failureThreshold successThreshold', [
      t.probeWorker,
      'R2: whatever is found, what stands changes only after as many in a row as the threshold asks for',
    ]),
    works('initialDelaySeconds', [t.prober, 'begins when the initial delay is over, not a period later']),
    works(
      'periodSeconds timeoutSeconds',
      [t.prober, 'is made as soon as its container runs, then every period, and what changes is told'],
      [t.probeRules, 'are its spec’s, or upstream’s defaults'],
    ),
    works('terminationGracePeriodSeconds', [t.kill, 'is what the liveness probe says when it failed']),
  ],
};
