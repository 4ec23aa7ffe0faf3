import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Container,
  checkPod,
  defaultPod,
  formatFieldError,
  type ObjectMeta,
  type Pod,
  type PodSpec,
  type Volume,
  validatePod,
} from '../src/index.ts';
import { STOP_SIGNALS } from '../src/validation/stop-signals.ts';
import { makePod } from './make-pod.ts';

const problems = (pod: Pod): string[] => validatePod(defaultPod(pod)).map(formatFieldError);
const ofSpec = (spec: Partial<PodSpec>): string[] => problems(makePod(spec));
const ofContainer = (fields: Partial<Container>, spec: Partial<PodSpec> = {}): string[] =>
  ofSpec({ ...spec, containers: [{ name: 'c', image: 'i', ...fields }] });
const ofVolume = (source: Partial<Volume>): string[] => ofSpec({ volumes: [{ name: 'v', ...source }] });
const c0 = 'spec.containers[0]';
const v0 = 'spec.volumes[0]';
const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const keyRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

describe('validatePod', () => {
  it('validatePod accepts a pod that uses many API fields correctly', () => {
    const spec: Partial<PodSpec> = {
      volumes: [
        { name: 'scratch', emptyDir: { sizeLimit: '1Gi' } },
        { name: 'host', hostPath: { path: '/var/log', type: 'DirectoryOrCreate' } },
        { name: 'info', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
      initContainers: [
        { name: 'setup', image: 'i' },
        { name: 'side', image: 'i', restartPolicy: 'Always', startupProbe: { tcpSocket: { port: 'http' } } },
      ],
      containers: [
        {
          name: 'main',
          image: 'i:1',
          command: ['sleep'],
          env: [
            { name: 'A=B'.replace('=', '-'), value: 'x' },
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'L', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
            { name: 'M', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
          ],
          ports: [{ name: 'http', containerPort: 80, hostPort: 8080 }],
          livenessProbe: { httpGet: { port: 'http' } },
          lifecycle: { preStop: { sleep: { seconds: 0 } } },
          resources: { limits: { cpu: '1', memory: '1Gi', 'example.com/gpu': '1' }, requests: { cpu: '0.5' } },
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
          volumeMounts: [
            { name: 'scratch', mountPath: '/tmp', subPath: 'a/b' },
            { name: 'host', mountPath: '/logs', readOnly: true, recursiveReadOnly: 'Enabled' },
          ],
          securityContext: { runAsNonRoot: true, runAsUser: 0, seccompProfile: { type: 'RuntimeDefault' } },
        },
      ],
      tolerations: [{ operator: 'Exists' }, { key: 'a', value: 'b', effect: 'NoExecute', tolerationSeconds: 1 }],
      hostAliases: [{ ip: '::1', hostnames: ['a.b'] }],
      dnsConfig: {
        nameservers: ['1.1.1.1'],
        searches: ['.', '_srv.example.com.', 'a_b.c'],
        options: [{ name: 'ndots' }],
      },
      securityContext: { sysctls: [{ name: 'net/ipv4/ip_forward', value: '1' }], fsGroup: 1 },
    };
    expect(problems(makePod(spec, { labels: { 'a.b/c': '' }, annotations: { 'UPPER.io/x': 'y' } }))).toEqual([]);
  });

  it.each<[metadata: Partial<ObjectMeta>, expected: readonly string[]]>([
    [{ name: '' }, ['metadata.name: Required value: name or generateName is required']],
    [{ name: 'A' }, [`metadata.name: Invalid value: "A": ${subdomainRule}`]],
    [{ name: 'a'.repeat(254) }, [expect.stringContaining('must be no more than 253 characters')]],
    [{ namespace: '' }, ['metadata.namespace: Required value']],
    [{ namespace: 'a.b' }, ['metadata.namespace: Invalid value: "a.b": must not contain dots']],
    [{ labels: { 'a b': 'c' } }, [`metadata.labels: Invalid value: "a b": name part ${keyRule}`]],
    [{ labels: { '/a': 'c' } }, ['metadata.labels: Invalid value: "/a": prefix part must be non-empty']],
    [
      { labels: { 'a/b/c': '' } },
      [
        `metadata.labels: Invalid value: "a/b/c": a valid label key ${keyRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
      ],
    ],
    [
      { labels: { a: 'b '.repeat(2) } },
      [expect.stringContaining('a valid label must be an empty string or consist of')],
    ],
    [{ labels: { a: 'b'.repeat(64) } }, [expect.stringContaining('must be no more than 63 bytes')]],
    [{ annotations: { '': 'x' } }, [expect.stringContaining('name part must be non-empty'), expect.any(String)]],
    [
      { annotations: { a: 'x'.repeat(262_144) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
  ])('validatePod reports the errors of metadata with %j', (metadata, expected) => {
    const pod = makePod();
    expect(problems({ ...pod, metadata: { ...pod.metadata, ...metadata } })).toEqual(expected);
  });

  it.each<[fields: Partial<Container>, expected: readonly string[]]>([
    [{ name: '' }, [`${c0}.name: Required value`]],
    [{ name: 'A_b' }, [`${c0}.name: Invalid value: "A_b": ${labelRule}`]],
    [{ image: '' }, [`${c0}.image: Required value`]],
    [{ image: ' i' }, [`${c0}.image: Invalid value: " i": must not have leading or trailing whitespace`]],
    [
      { imagePullPolicy: 'Sometimes' },
      [`${c0}.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`],
    ],
    [
      { terminationMessagePolicy: 'x' },
      [`${c0}.terminationMessagePolicy: Unsupported value: "x": supported values: "File", "FallbackToLogsOnError"`],
    ],
    // Ports
    [{ ports: [{ containerPort: 0 }] }, [`${c0}.ports[0].containerPort: Required value`]],
    [
      { ports: [{ containerPort: 65536 }] },
      [`${c0}.ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive`],
    ],
    [
      { ports: [{ containerPort: 1, hostPort: -1 }] },
      [`${c0}.ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive`],
    ],
    [
      { ports: [{ containerPort: 1, protocol: 'tcp' }] },
      [`${c0}.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"`],
    ],
    [
      {
        ports: [
          { containerPort: 1, name: 'a' },
          { containerPort: 2, name: 'a' },
        ],
      },
      [`${c0}.ports[1].name: Duplicate value: "a"`],
    ],
    [
      { ports: [{ containerPort: 1, name: '1' }] },
      [`${c0}.ports[0].name: Invalid value: "1": must contain at least one letter (a-z)`],
    ],
    [
      { ports: [{ containerPort: 1, name: '-A--much-too-long-' }] },
      [
        expect.stringContaining('must be no more than 15 characters'),
        expect.stringContaining('must contain only alpha-numeric'),
        expect.stringContaining('consecutive hyphens'),
        expect.stringContaining('must not begin or end'),
      ],
    ],
    [
      {
        ports: [
          { containerPort: 1, hostPort: 5 },
          { containerPort: 2, hostPort: 5 },
        ],
      },
      [`${c0}.ports[1].hostPort: Duplicate value: "TCP//5"`],
    ],
    // Environment
    [{ env: [{ name: '' }] }, [`${c0}.env[0].name: Required value`]],
    [
      { env: [{ name: 'A=B' }] },
      [
        `${c0}.env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='`,
      ],
    ],
    [{ env: [{ name: 'A', valueFrom: {} }] }, [expect.stringContaining('must specify one of: `fieldRef`')]],
    [
      { env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      [`${c0}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`],
    ],
    [
      {
        env: [
          { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' }, secretKeyRef: { name: 's', key: 'k' } } },
        ],
      },
      [`${c0}.env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time`],
    ],
    [
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: '' } } }] },
      [`${c0}.env[0].valueFrom.fieldRef.fieldPath: Required value`],
    ],
    [
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }] },
      [expect.stringContaining('.fieldRef.fieldPath: Unsupported value: "spec.x": supported values: "metadata.name"')],
    ],
    [
      { env: [{ name: 'A', valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } } }] },
      [`${c0}.env[0].valueFrom.fieldRef.apiVersion: Invalid value: "v2": must be v1`],
    ],
    [
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.name['x']" } } }] },
      [`${c0}.env[0].valueFrom.fieldRef: Invalid value: "metadata.name": does not support subscript`],
    ],
    [
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['a b']" } } }] },
      [`${c0}.env[0].valueFrom.fieldRef: Invalid value: "a b": name part ${keyRule}`],
    ],
    [
      { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.disk' } } }] },
      [expect.stringContaining('.resourceFieldRef.resource: Unsupported value: "limits.disk"')],
    ],
    [
      { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } }] },
      [
        `${c0}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
      ],
    ],
    [
      {
        env: [
          { name: 'A', valueFrom: { resourceFieldRef: { resource: 'requests.ephemeral-storage', divisor: '1m' } } },
        ],
      },
      [expect.stringContaining('1Pi, 1Ei are supported with the local ephemeral storage resource')],
    ],
    [
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'S', key: '..' } } }] },
      [
        `${c0}.env[0].valueFrom.secretKeyRef.name: Invalid value: "S": ${subdomainRule}`,
        `${c0}.env[0].valueFrom.secretKeyRef.key: Invalid value: "..": must not be '..'`,
      ],
    ],
    [
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { key: 'K', path: '../x', volumeName: 'v' } } }] },
      [
        `${c0}.env[0].valueFrom.fileKeyRef.path: Invalid value: "../x": must not contain '..'`,
        `${c0}.env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"`,
      ],
    ],
    [{ envFrom: [{}] }, [`${c0}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``]],
    [
      { envFrom: [{ prefix: '=', configMapRef: { name: '' }, secretRef: { name: 's' } }] },
      [
        expect.stringContaining(`${c0}.envFrom[0].prefix: Invalid value`),
        `${c0}.envFrom[0].configMapRef.name: Required value`,
        `${c0}.envFrom: Invalid value: "": may not have more than one field specified at a time`,
      ],
    ],
    // Probes and hooks
    [{ livenessProbe: {} }, [`${c0}.livenessProbe: Required value: must specify a handler type`]],
    [
      { livenessProbe: { exec: { command: [] }, tcpSocket: { port: 1 } } },
      [
        `${c0}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
        `${c0}.livenessProbe.exec.command: Required value`,
      ],
    ],
    [
      { livenessProbe: { httpGet: { port: 0, scheme: 'ftp', httpHeaders: [{ name: 'a b', value: '' }] } } },
      [
        `${c0}.livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
        `${c0}.livenessProbe.httpGet.scheme: Unsupported value: "ftp": supported values: "HTTP", "HTTPS"`,
        expect.stringContaining(`${c0}.livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header`),
      ],
    ],
    [
      {
        livenessProbe: { grpc: { port: 1 }, successThreshold: 2, periodSeconds: -1, terminationGracePeriodSeconds: 0 },
      },
      [
        `${c0}.livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
        `${c0}.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
        `${c0}.livenessProbe.successThreshold: Invalid value: 2: must be 1`,
      ],
    ],
    [
      { readinessProbe: { grpc: { port: 1 }, successThreshold: 2, terminationGracePeriodSeconds: 5 } },
      [`${c0}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes`],
    ],
    [
      { lifecycle: { preStop: { sleep: { seconds: 31 } }, postStart: {} } },
      [
        `${c0}.lifecycle.postStart: Required value: must specify a handler type`,
        `${c0}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`,
      ],
    ],
    [
      { lifecycle: { stopSignal: 'SIGTERM' } },
      [`${c0}.lifecycle.stopSignal: Forbidden: may not be set for containers with empty \`spec.os.name\``],
    ],
    // Resources
    [
      { resources: { limits: { cpu: '1x' } } },
      [expect.stringContaining(`${c0}.resources.limits[cpu]: Invalid value: "1x"`), expect.any(String)],
    ],
    [
      { resources: { limits: { cpu: '-1' }, requests: { cpu: '-2' } } },
      [
        `${c0}.resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
        `${c0}.resources.requests[cpu]: Invalid value: "-2": must be greater than or equal to 0`,
      ],
    ],
    [
      { resources: { limits: { cpu: '1' }, requests: { cpu: '1500m' } } },
      [`${c0}.resources.requests: Invalid value: "1500m": must be less than or equal to cpu limit of 1`],
    ],
    [
      { resources: { limits: { 'example.com/gpu': '2' }, requests: { 'example.com/gpu': '1' } } },
      [`${c0}.resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2`],
    ],
    [
      { resources: { requests: { 'example.com/gpu': '1' } } },
      [`${c0}.resources.limits: Required value: Limit must be set for non overcommitable resources`],
    ],
    [
      { resources: { limits: { 'example.com/gpu': '0.5' } } },
      [
        `${c0}.resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer`,
        `${c0}.resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer`,
      ],
    ],
    [
      { resources: { requests: { disk: '1' } } },
      [`${c0}.resources.requests[disk]: Invalid value: "disk": must be a standard resource for containers`],
    ],
    [
      { resources: { limits: { 'hugepages-2Mi': '3Mi' } } },
      [
        `${c0}.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
        `${c0}.resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
        `${c0}.resources: Forbidden: HugePages require cpu or memory`,
      ],
    ],
    [
      { resources: { limits: { cpu: '1', 'hugepages-2MB': '2Mi' }, requests: { cpu: '1' } } },
      [
        `${c0}.resources.limits[hugepages-2MB]: Invalid value: "2Mi": 2Mi is not positive integer multiple of hugepages-2MB`,
        `${c0}.resources.requests[hugepages-2MB]: Invalid value: "2Mi": 2Mi is not positive integer multiple of hugepages-2MB`,
      ],
    ],
    [
      { resources: { limits: { cpu: '1', 'hugepages-500m': '1' }, requests: { cpu: '1' } } },
      [
        `${c0}.resources.limits[hugepages-500m]: Invalid value: "1": 1 is not positive integer multiple of hugepages-500m`,
        `${c0}.resources.requests[hugepages-500m]: Invalid value: "1": 1 is not positive integer multiple of hugepages-500m`,
      ],
    ],
    [{ resources: { claims: [{ name: 'gpu' }] } }, [`${c0}.resources.claims[0]: Not found: "gpu"`]],
    // Restarts and resizes
    [
      { restartPolicy: 'Maybe' },
      [`${c0}.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never", "OnFailure"`],
    ],
    [
      { restartPolicyRules: [{ action: 'Explode' }] },
      [
        `${c0}.restartPolicy: Required value: must specify restartPolicy when restart rules are used`,
        `${c0}.restartPolicyRules[0].action: Unsupported value: "Explode": supported values: "Restart", "RestartAllContainers"`,
        `${c0}.restartPolicyRules[0].exitCodes: Required value: must be specified`,
      ],
    ],
    [
      {
        restartPolicy: 'Never',
        restartPolicyRules: [
          { action: 'Restart', exitCodes: { operator: 'Is', values: Array.from({ length: 256 }, (_, n) => n) } },
        ],
      },
      [
        `${c0}.restartPolicyRules[0].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"`,
        `${c0}.restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items`,
      ],
    ],
    [
      {
        resizePolicy: [
          { resourceName: 'cpu', restartPolicy: 'x' },
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
        ],
      },
      [
        `${c0}.resizePolicy[0].restartPolicy: Unsupported value: "x": supported values: "NotRequired", "RestartContainer"`,
        `${c0}.resizePolicy[1]: Duplicate value: "cpu"`,
      ],
    ],
    // Security
    [
      { securityContext: { runAsUser: -1, runAsGroup: 2 ** 31, procMount: 'Unmasked' } },
      [
        `${c0}.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
        `${c0}.securityContext.runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive`,
        `${c0}.securityContext.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false to use \`Unmasked\``,
      ],
    ],
    [
      {
        securityContext: {
          allowPrivilegeEscalation: false,
          privileged: true,
          capabilities: { add: ['CAP_SYS_ADMIN'] },
        },
      },
      [
        expect.stringContaining('cannot set `allowPrivilegeEscalation` to false and `privileged` to true'),
        expect.stringContaining('cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN'),
      ],
    ],
    [
      {
        securityContext: {
          seccompProfile: { type: 'Localhost', localhostProfile: '../x' },
          appArmorProfile: { type: 'Localhost' },
        },
      },
      [
        `${c0}.securityContext.seccompProfile.localhostProfile: Invalid value: "../x": must not contain '..'`,
        `${c0}.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost`,
      ],
    ],
    [
      {
        securityContext: {
          seccompProfile: { type: 'Unconfined', localhostProfile: 'x' },
          appArmorProfile: { type: '' },
        },
      },
      [
        `${c0}.securityContext.seccompProfile.localhostProfile: Invalid value: "x": can only be set when seccomp type is Localhost`,
        `${c0}.securityContext.appArmorProfile.type: Required value`,
      ],
    ],
    [
      { securityContext: { windowsOptions: {} } },
      [`${c0}.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod`],
    ],
  ])('validatePod reports the errors of a container with %j', (fields, expected) => {
    expect(ofContainer(fields)).toEqual(expected);
  });

  const volumes: readonly Volume[] = [
    { name: 'v', emptyDir: {} },
    { name: 'claim', persistentVolumeClaim: { claimName: 'p' } },
  ];
  const mount = { name: 'v', mountPath: '/m' };
  it.each<[fields: Partial<Container>, expected: readonly string[]]>([
    [{ volumeMounts: [{ name: 'x', mountPath: '/m' }] }, [`${c0}.volumeMounts[0].name: Not found: "x"`]],
    [{ volumeMounts: [{ name: 'v', mountPath: '' }] }, [`${c0}.volumeMounts[0].mountPath: Required value`]],
    [{ volumeMounts: [mount, mount] }, [`${c0}.volumeMounts[1].mountPath: Invalid value: "/m": must be unique`]],
    [
      { volumeMounts: [{ ...mount, subPath: '/abs' }] },
      [`${c0}.volumeMounts[0].subPath: Invalid value: "/abs": must be a relative path`],
    ],
    [
      { volumeMounts: [{ ...mount, subPath: 'a/../b' }] },
      [`${c0}.volumeMounts[0].subPath: Invalid value: "a/../b": must not contain '..'`],
    ],
    [
      { volumeMounts: [{ ...mount, subPath: 'a', subPathExpr: '../b' }] },
      [
        `${c0}.volumeMounts[0].subPathExpr: Invalid value: "../b": subPathExpr and subPath are mutually exclusive`,
        `${c0}.volumeMounts[0].subPathExpr: Invalid value: "../b": must not contain '..'`,
      ],
    ],
    [
      { volumeMounts: [{ ...mount, mountPropagation: 'Bidirectional' }] },
      [
        `${c0}.volumeMounts[0].mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
      ],
    ],
    [{ volumeMounts: [{ ...mount, mountPropagation: 'Bidirectional' }], securityContext: { privileged: true } }, []],
    [
      { volumeMounts: [{ ...mount, recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' }] },
      [
        `${c0}.volumeMounts[0].recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
        `${c0}.volumeMounts[0].recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified`,
      ],
    ],
    [
      {
        volumeDevices: [
          { name: 'v', devicePath: '/dev/../x' },
          { name: 'x', devicePath: '' },
        ],
      },
      [
        `${c0}.volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
        `${c0}.volumeDevices[0].devicePath: Invalid value: "/dev/../x": can not contain backsteps ('..')`,
        `${c0}.volumeDevices[1].name: Not found: "x"`,
        `${c0}.volumeDevices[1].devicePath: Required value`,
      ],
    ],
    [
      { volumeDevices: [{ name: 'claim', devicePath: '/m' }], volumeMounts: [{ name: 'claim', mountPath: '/m' }] },
      [
        `${c0}.volumeMounts[0].name: Invalid value: "claim": must not already exist in volumeDevices`,
        `${c0}.volumeMounts[0].mountPath: Invalid value: "/m": must not already exist as a path in volumeDevices`,
      ],
    ],
  ])('validatePod reports the errors of mounts with %j', (fields, expected) => {
    expect(ofContainer(fields, { volumes })).toEqual(expected);
  });

  it.each<[source: Partial<Volume>, expected: readonly string[]]>([
    [{ name: 'V' }, [`${v0}.name: Invalid value: "V": ${labelRule}`]],
    [{ name: '' }, [`${v0}.name: Required value`]],
    [
      { emptyDir: {}, hostPath: { path: '/x' } },
      [`${v0}.hostPath: Forbidden: may not specify more than 1 volume type`],
    ],
    [
      { emptyDir: { sizeLimit: '-1' } },
      [`${v0}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`],
    ],
    [{ hostPath: { path: '' } }, [`${v0}.hostPath.path: Required value`]],
    [{ hostPath: { path: '/a/../b' } }, [`${v0}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`]],
    [
      { hostPath: { path: '/a', type: 'Dir' } },
      [expect.stringContaining(`${v0}.hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice"`)],
    ],
    [
      { secret: { defaultMode: 0o1000 } },
      [
        `${v0}.secret.secretName: Required value`,
        `${v0}.secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive`,
      ],
    ],
    [
      {
        configMap: {
          items: [
            { key: '', path: '/a' },
            { key: 'k', path: '..a', mode: -1 },
          ],
        },
      },
      [
        `${v0}.configMap.name: Required value`,
        `${v0}.configMap.items[0].key: Required value`,
        `${v0}.configMap.items[0].path: Invalid value: "/a": must be a relative path`,
        `${v0}.configMap.items[1].path: Invalid value: "..a": must not start with '..'`,
        expect.stringContaining(`${v0}.configMap.items[1].mode: Invalid value: -1`),
      ],
    ],
    [
      {
        downwardAPI: {
          items: [
            { path: 'a' },
            { path: 'b', resourceFieldRef: { resource: 'limits.cpu' } },
            { path: '', fieldRef: { fieldPath: 'status.podIP' } },
          ],
        },
      },
      [
        `${v0}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
        `${v0}.downwardAPI.resourceFieldRef.containerName: Required value`,
        `${v0}.downwardAPI.path: Required value`,
        expect.stringContaining(`${v0}.downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP"`),
      ],
    ],
    [
      {
        projected: {
          sources: [
            { secret: { name: '' }, configMap: { name: 'c' } },
            { serviceAccountToken: { path: '', expirationSeconds: 599 } },
          ],
        },
      },
      [
        `${v0}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
        `${v0}.projected.sources[0].secret.name: Required value`,
        `${v0}.projected.sources[1].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`,
        `${v0}.projected.path: Required value`,
        `${v0}.projected.sources[1].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
      ],
    ],
    [
      {
        projected: {
          sources: [
            { secret: { name: 's', items: [{ key: 'k', path: 'p' }] } },
            { configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } },
          ],
        },
      },
      [`${v0}.projected: Invalid value: "p": conflicting duplicate paths`],
    ],
    [{ persistentVolumeClaim: { claimName: '' } }, [`${v0}.persistentVolumeClaim.claimName: Required value`]],
    [{ csi: { driver: '' } }, [`${v0}.csi.driver: Required value`]],
    [
      { nfs: { server: '', path: 'x' } },
      [`${v0}.nfs.server: Required value`, `${v0}.nfs.path: Invalid value: "x": must be an absolute path`],
    ],
    [
      { image: { pullPolicy: 'x' } },
      [
        `${v0}.image.reference: Required value`,
        expect.stringContaining(`${v0}.image.pullPolicy: Unsupported value: "x"`),
      ],
    ],
  ])('validatePod reports the errors of a volume with %j', (source, expected) => {
    expect(ofVolume(source)).toEqual(expected);
  });

  const main = { name: 'main', image: 'i' };
  it.each<[spec: Partial<PodSpec>, expected: readonly string[]]>([
    [{ containers: [] }, ['spec.containers: Required value']],
    [{ containers: [main, main] }, ['spec.containers[1].name: Duplicate value: "main"']],
    [{ initContainers: [main] }, ['spec.initContainers[0].name: Duplicate value: "main"']],
    [
      { initContainers: [{ name: 'a', image: 'i', livenessProbe: { exec: { command: ['x'] } }, lifecycle: {} }] },
      [
        'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
        'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
      ],
    ],
    [
      {
        initContainers: [
          { name: 'a', image: 'i', restartPolicy: 'Always', livenessProbe: { exec: { command: ['x'] } } },
        ],
      },
      [],
    ],
    [
      {
        initContainers: [
          { name: 'a', image: 'i', resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] },
        ],
      },
      [
        `spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to 'RestartContainer' for non-sidecar initContainers`,
      ],
    ],
    [
      { ephemeralContainers: [{ name: 'e', image: 'i' }] },
      ['spec.ephemeralContainers: Forbidden: cannot be set on create'],
    ],
    [{ volumes: [{ name: 'v' }, { name: 'v' }] }, ['spec.volumes[1].name: Duplicate value: "v"']],
    [
      { restartPolicy: 'Sometimes' },
      ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      { activeDeadlineSeconds: 0 },
      ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ],
    [{ terminationGracePeriodSeconds: -1 }, []],
    [
      { hostNetwork: true, containers: [{ ...main, ports: [{ containerPort: 80, hostPort: 81 }] }] },
      [
        'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
      ],
    ],
    [
      {
        restartPolicy: 'Never',
        containers: [{ ...main, resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }],
      },
      [
        `spec.containers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must be 'NotRequired' when pod \`restartPolicy\` is 'Never'`,
      ],
    ],
    [
      { hostname: 'a.b', subdomain: 'A' },
      [
        'spec.hostname: Invalid value: "a.b": must not contain dots',
        `spec.subdomain: Invalid value: "A": ${labelRule}`,
      ],
    ],
    [
      { hostnameOverride: 'a'.repeat(65), hostNetwork: true, setHostnameAsFQDN: true },
      [
        'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
        'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
        'spec.hostnameOverride: Too long: may not be more than 64 bytes',
      ],
    ],
    [
      { nodeName: 'A', priorityClassName: '-' },
      [expect.stringContaining('spec.nodeName: Invalid value'), expect.stringContaining('spec.priorityClassName')],
    ],
    [{ nodeSelector: { 'a b': 'c' } }, [expect.stringContaining('spec.nodeSelector: Invalid value: "a b"')]],
    [
      { preemptionPolicy: 'x' },
      ['spec.preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"'],
    ],
    [
      { readinessGates: [{ conditionType: '' }] },
      [expect.stringContaining('name part must be non-empty'), expect.any(String)],
    ],
    [
      { nodeName: 'n', schedulingGates: [{ name: 'g' }] },
      ['spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared'],
    ],
    [
      {
        tolerations: [
          {},
          { key: 'a', operator: 'Exists', value: 'b', effect: 'x' },
          { key: 'a', operator: '?', tolerationSeconds: 1 },
        ],
      },
      [
        'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
        `spec.tolerations[1].operator: Invalid value: "b": value must be empty when \`operator\` is 'Exists'`,
        'spec.tolerations[1].effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        `spec.tolerations[2].effect: Invalid value: "": effect must be 'NoExecute' when \`tolerationSeconds\` is set`,
        'spec.tolerations[2].operator: Unsupported value: "?": supported values: "Equal", "Exists"',
      ],
    ],
    [
      { hostAliases: [{ ip: '1.2.3', hostnames: ['A'] }] },
      [
        'spec.hostAliases[0].ip: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        `spec.hostAliases[0].hostnames[0]: Invalid value: "A": ${subdomainRule}`,
      ],
    ],
    [
      { dnsPolicy: 'Any' },
      [
        'spec.dnsPolicy: Unsupported value: "Any": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
      ],
    ],
    [{ dnsPolicy: 'None' }, ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None']],
    [
      { dnsPolicy: 'None', dnsConfig: {} },
      ['spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None'],
    ],
    [
      { dnsConfig: { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', 'x'], searches: ['A'], options: [{}] } },
      [
        'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","x"]: must not have more than 3 nameservers',
        'spec.dnsConfig.nameservers[3]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        expect.stringContaining(
          'spec.dnsConfig.searches[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist',
        ),
        'spec.dnsConfig.options[0]: Required value: must not be empty',
      ],
    ],
    [
      { dnsConfig: { searches: Array.from({ length: 33 }, () => 'a'.repeat(63)) } },
      [
        expect.stringContaining('must not have more than 32 search paths'),
        expect.stringContaining('must not have more than 2048 characters'),
      ],
    ],
    [
      {
        securityContext: {
          fsGroup: -1,
          supplementalGroups: [1, -1],
          fsGroupChangePolicy: 'x',
          supplementalGroupsPolicy: 'x',
          seLinuxChangePolicy: 'x',
          windowsOptions: {},
        },
      },
      [
        'spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'spec.securityContext.supplementalGroups[1]: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'spec.securityContext.fsGroupChangePolicy: Unsupported value: "x": supported values: "Always", "OnRootMismatch"',
        'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "x": supported values: "Merge", "Strict"',
        'spec.securityContext.seLinuxChangePolicy: Unsupported value: "x": supported values: "MountOption", "Recursive"',
        'spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod',
      ],
    ],
    [
      {
        hostNetwork: true,
        hostIPC: true,
        securityContext: {
          sysctls: ['', 'A', 'net.a', 'net.a', 'kernel.msgmax', 'fs.mqueue.x', 'kernel.pid_max'].map((name) => ({
            name,
            value: '1',
          })),
        },
      },
      [
        'spec.securityContext.sysctls[0].name: Required value',
        expect.stringContaining(
          'spec.securityContext.sysctls[1].name: Invalid value: "A": must have at most 253 characters',
        ),
        `spec.securityContext.sysctls[2].name: Invalid value: "net.a": may not be specified when 'hostNetwork' is true`,
        'spec.securityContext.sysctls[3].name: Duplicate value: "net.a"',
        `spec.securityContext.sysctls[3].name: Invalid value: "net.a": may not be specified when 'hostNetwork' is true`,
        `spec.securityContext.sysctls[4].name: Invalid value: "kernel.msgmax": may not be specified when 'hostIPC' is true`,
        `spec.securityContext.sysctls[5].name: Invalid value: "fs.mqueue.x": may not be specified when 'hostIPC' is true`,
      ],
    ],
    [
      { hostUsers: false, hostPID: true, hostIPC: true, shareProcessNamespace: true },
      [
        'spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
        'spec.hostPID: Forbidden: when `hostUsers` is false',
        'spec.hostIPC: Forbidden: when `hostUsers` is false',
      ],
    ],
    [{ os: { name: 'plan9' } }, ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"']],
    [
      { os: { name: 'linux' }, containers: [{ ...main, lifecycle: { stopSignal: 'TERM' } }] },
      [
        expect.stringContaining(
          'spec.containers[0].lifecycle.stopSignal: Unsupported value: "TERM": supported values: "SIGABRT"',
        ),
      ],
    ],
    [
      {
        containers: [{ ...main, resources: { requests: { cpu: '2' }, limits: { cpu: '9' } } }],
        resources: { requests: { cpu: '1', disk: '1' }, limits: { cpu: '8' } },
      },
      [
        'spec.resources.requests[disk]: Unsupported value: "disk": supported values: "cpu", "hugepages-", "memory"',
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
        'spec.containers[0].resources.limits[cpu]: Invalid value: "9": must be less than or equal to pod limits of 8',
      ],
    ],
    [
      { overhead: { cpu: '-1' } },
      ['spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [
      { overhead: { 'hugepages-2MB': '2Mi' } },
      [
        'spec.overhead.limits[hugepages-2MB]: Invalid value: "2Mi": 2Mi is not positive integer multiple of hugepages-2MB',
        'spec.overhead: Forbidden: HugePages require cpu or memory',
      ],
    ],
  ])('validatePod reports the errors of a spec with %j', (spec, expected) => {
    expect(ofSpec(spec)).toEqual(expected);
  });

  it('validatePod knows the 65 stop signals of containers', () => {
    expect(STOP_SIGNALS).toHaveLength(new Set(STOP_SIGNALS).size);
    expect(STOP_SIGNALS).toHaveLength(65);
    expect(STOP_SIGNALS).toEqual(expect.arrayContaining(['SIGTERM', 'SIGRTMIN+15', 'SIGRTMAX-14', 'SIGRTMAX']));
  });

  it('W3: for any pod of the right types, validatePod returns errors in bounded time and never throws', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('', 'a', '..', '/', 'v', 'Always', '1Gi', '-1'));
    const number = fc.integer({ min: -1, max: 70_000 });
    const container = fc.record(
      {
        name: text,
        image: text,
        restartPolicy: text,
        env: fc.array(fc.record({ name: text, valueFrom: fc.record({ fieldRef: fc.record({ fieldPath: text }) }) })),
        ports: fc.array(fc.record({ containerPort: number, hostPort: number, name: text })),
        resources: fc.record({ limits: fc.dictionary(text, text), requests: fc.dictionary(text, text) }),
        livenessProbe: fc.record({ httpGet: fc.record({ port: fc.oneof(number, text) }) }, { requiredKeys: [] }),
        volumeMounts: fc.array(fc.record({ name: text, mountPath: text, subPath: text })),
      },
      { requiredKeys: ['name'] },
    );
    const spec = fc.record(
      {
        containers: fc.array(container, { maxLength: 3 }),
        initContainers: fc.array(container, { maxLength: 3 }),
        volumes: fc.array(fc.record({ name: text, hostPath: fc.record({ path: text }) }, { requiredKeys: ['name'] })),
        resources: fc.record({ limits: fc.dictionary(text, text) }),
        overhead: fc.dictionary(text, text),
        dnsPolicy: text,
        tolerations: fc.array(fc.record({ key: text, operator: text })),
      },
      { requiredKeys: ['containers'] },
    );
    fc.assert(
      fc.property(spec, (one) => {
        const pod = defaultPod(makePod(one as PodSpec));
        expect(checkPod(pod)).toEqual([]);
        for (const error of validatePod(pod)) expect(error.field).toMatch(/^(metadata|spec)\./);
      }),
      { numRuns: 200 },
    );
  });

  // Quadratic time would exceed the test's timeout.
  it('W3: validatePod takes linear time for names of any length', () => {
    const long = 'a'.repeat(1_000_000);
    expect(
      ofContainer({
        name: `${long}!`,
        env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "['".repeat(500_000) } } }],
      }),
    ).not.toEqual([]);
    expect(problems(makePod({}, { labels: { [`${long}/${long}!`]: `${long}!` } }))).not.toEqual([]);
    // If the pattern were tried on this key, matching would exhaust the stack.
    expect(problems(makePod({}, { labels: { [`${'a.'.repeat(4_000_000)}!/a`]: '' } }))).not.toEqual([]);
  });
});
