import { describe, expect, it } from 'vitest';
import { defaultPod, type Pod, type PodSpec, type Volume } from '../src/index.ts';
import { makePod } from './make-pod.ts';

const defaulted = (spec: Partial<PodSpec>): PodSpec => defaultPod(makePod(spec)).spec;
const volume = (source: Partial<Volume>): Volume | undefined =>
  defaulted({ volumes: [{ name: 'v', ...source }] }).volumes?.[0];

describe('defaultPod', () => {
  it('defaultPod sets the defaults that the API server would set', () => {
    expect(defaultPod(makePod())).toStrictEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'busybox:1',
            imagePullPolicy: 'IfNotPresent',
            resources: {},
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
          },
        ],
        dnsPolicy: 'ClusterFirst',
        enableServiceLinks: true,
        restartPolicy: 'Always',
        schedulerName: 'default-scheduler',
        securityContext: {},
        terminationGracePeriodSeconds: 30,
      },
    });
  });

  it('defaultPod keeps values that are set, even zero and false', () => {
    const spec: Partial<PodSpec> = {
      dnsPolicy: 'None',
      enableServiceLinks: false,
      restartPolicy: 'Never',
      schedulerName: 'mine',
      securityContext: { runAsUser: 0 },
      terminationGracePeriodSeconds: 0,
    };
    expect(defaulted(spec)).toMatchObject(spec);
  });

  it.each([
    [30, undefined],
    [0, 0],
    [1, 1],
    [1, -1],
  ])(
    'defaultPod sets the grace period to %j seconds if the pod declares %j',
    (expected, terminationGracePeriodSeconds) => {
      const asked = terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds };
      expect(defaulted(asked).terminationGracePeriodSeconds).toBe(expected);
    },
  );

  it('defaultPod keeps all fields that a container of any type sets itself', () => {
    const httpGet = { path: '/x', port: 80, scheme: 'HTTPS' };
    const probe = { timeoutSeconds: 2, periodSeconds: 3, successThreshold: 4, failureThreshold: 5 };
    const whole = {
      name: 'c',
      image: 'busybox',
      imagePullPolicy: 'Never',
      terminationMessagePath: '/x',
      terminationMessagePolicy: 'FallbackToLogsOnError',
      resources: { claims: [{ name: 'x' }] },
      ports: [{ containerPort: 80, hostPort: 81, protocol: 'SCTP' }],
      livenessProbe: { httpGet, ...probe },
      readinessProbe: { grpc: { port: 1, service: 's' }, ...probe },
      startupProbe: { tcpSocket: { port: 1 }, ...probe },
      lifecycle: { preStop: { httpGet }, postStart: { httpGet } },
      env: [
        { name: 'A', valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'f' } } },
        { name: 'B', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
        { name: 'C', valueFrom: { fileKeyRef: { key: 'k', path: 'p', volumeName: 'v', optional: true } } },
        { name: 'D', valueFrom: { secretKeyRef: { key: 'k', name: 's' } } },
      ],
    };
    const spec = { hostNetwork: true, containers: [whole], initContainers: [whole], ephemeralContainers: [whole] };
    expect(defaulted(spec)).toMatchObject(spec);
    const [container] = defaulted(spec).containers;
    expect(container).toEqual(whole);
    expect(defaulted(spec).initContainers).toEqual([whole]);
    expect(defaulted(spec).ephemeralContainers).toEqual([whole]);
  });

  it('defaultPod sets defaults of init and ephemeral containers, except for the ports of ephemeral containers', () => {
    const bare = { name: 'c', ports: [{ containerPort: 1 }] };
    const common = {
      name: 'c',
      imagePullPolicy: 'IfNotPresent',
      resources: {},
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    };
    const spec = defaulted({ hostNetwork: true, initContainers: [bare], ephemeralContainers: [bare] });
    expect(spec.initContainers).toEqual([{ ...common, ports: [{ containerPort: 1, hostPort: 1, protocol: 'TCP' }] }]);
    expect(spec.ephemeralContainers).toEqual([{ ...common, ports: [{ containerPort: 1 }] }]);
    expect(defaulted({})).not.toHaveProperty('initContainers');
  });

  it('defaultPod sets defaults of postStart and preStop hooks', () => {
    const whole = { httpGet: { path: '/', port: 1, scheme: 'HTTP' } };
    const after = { postStart: { httpGet: { port: 1 } } };
    const [first, second] = defaulted({
      containers: [
        { name: 'a', lifecycle: after },
        { name: 'b', lifecycle: { stopSignal: 'SIGUSR1' } },
      ],
    }).containers;
    expect(first?.lifecycle).toEqual({ postStart: whole });
    expect(second?.lifecycle).toEqual({ stopSignal: 'SIGUSR1' });
  });

  it('defaultPod replaces a negative probe period by 1, and writes the default divisor', () => {
    const resourceFieldRef = { resource: 'limits.cpu' };
    const spec = defaulted({
      terminationGracePeriodSeconds: -5,
      containers: [{ name: 'c', env: [{ name: 'A', valueFrom: { resourceFieldRef } }] }],
      volumes: [{ name: 'v', downwardAPI: { items: [{ path: 'p', resourceFieldRef }] } }],
    });
    expect(spec.terminationGracePeriodSeconds).toBe(1);
    expect(spec.containers[0]?.env?.[0]?.valueFrom?.resourceFieldRef?.divisor).toBe('0');
    expect(spec.volumes?.[0]?.downwardAPI?.items?.[0]?.resourceFieldRef?.divisor).toBe('0');
  });

  it.each([
    ['busybox', 'Always'],
    ['busybox:latest', 'Always'],
    ['busybox:1', 'IfNotPresent'],
    [`busybox@sha256:${'a'.repeat(64)}`, 'IfNotPresent'],
    ['Not An Image', 'IfNotPresent'],
    [undefined, 'IfNotPresent'],
  ])('defaultPod sets the imagePullPolicy for image %s to %s', (image, imagePullPolicy) => {
    const container = { name: 'c', ...(image === undefined ? {} : { image }) };
    expect(defaulted({ containers: [container] }).containers[0]).toMatchObject({ imagePullPolicy });
    expect(defaulted({ ephemeralContainers: [container] }).ephemeralContainers?.[0]).toMatchObject({ imagePullPolicy });
  });

  it('defaultPod sets the protocol of ports, and their host port if the pod is on the host network', () => {
    const ports = [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP', hostPort: 5353 }];
    const containers = [{ name: 'c', ports }];
    expect(defaulted({ containers }).containers[0]?.ports).toStrictEqual([
      { containerPort: 80, protocol: 'TCP' },
      { containerPort: 53, protocol: 'UDP', hostPort: 5353 },
    ]);
    expect(defaulted({ containers, hostNetwork: true }).containers[0]?.ports?.[0]).toEqual({
      containerPort: 80,
      protocol: 'TCP',
      hostPort: 80,
    });
  });

  it('defaultPod sets defaults of probes, hooks and field references', () => {
    const get = { port: 80 };
    const spec = defaulted({
      containers: [
        {
          name: 'c',
          livenessProbe: { httpGet: get, timeoutSeconds: 5 },
          readinessProbe: { grpc: { port: 1 } },
          startupProbe: { exec: { command: ['true'] } },
          lifecycle: { preStop: { httpGet: get }, postStart: { exec: { command: ['true'] } } },
          env: [
            { name: 'A', value: 'a' },
            { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'C', valueFrom: { fileKeyRef: { key: 'k', path: 'p', volumeName: 'v' } } },
          ],
        },
      ],
    });
    const whole = { path: '/', port: 80, scheme: 'HTTP' };
    const thresholds = { failureThreshold: 3, periodSeconds: 10, successThreshold: 1 };
    expect(spec.containers[0]).toMatchObject({
      livenessProbe: { httpGet: whole, timeoutSeconds: 5, ...thresholds },
      readinessProbe: { grpc: { port: 1, service: '' }, timeoutSeconds: 1, ...thresholds },
      startupProbe: { exec: { command: ['true'] }, timeoutSeconds: 1, ...thresholds },
      lifecycle: { preStop: { httpGet: whole }, postStart: { exec: { command: ['true'] } } },
      env: [
        { name: 'A', value: 'a' },
        { name: 'B', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
        { name: 'C', valueFrom: { fileKeyRef: { key: 'k', path: 'p', volumeName: 'v', optional: false } } },
      ],
    });
  });

  it.each<[string, Partial<Volume>, Partial<Volume>]>([
    ['emptyDir', {}, { emptyDir: {} }],
    ['hostPath', { hostPath: { path: '/x' } }, { hostPath: { path: '/x', type: '' } }],
    ['secret', { secret: { secretName: 's' } }, { secret: { secretName: 's', defaultMode: 0o644 } }],
    ['secret of mode 0', { secret: { defaultMode: 0 } }, { secret: { defaultMode: 0 } }],
    ['configMap', { configMap: { name: 'c' } }, { configMap: { name: 'c', defaultMode: 0o644 } }],
    [
      'downwardAPI',
      { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.uid' } }, { path: 'q' }] } },
      {
        downwardAPI: {
          defaultMode: 0o644,
          items: [{ path: 'p', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.uid' } }, { path: 'q' }],
        },
      },
    ],
    [
      'projected',
      { projected: { sources: [{ serviceAccountToken: { path: 't' } }, { downwardAPI: { items: [] } }] } },
      {
        projected: {
          defaultMode: 0o644,
          sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }, { downwardAPI: { items: [] } }],
        },
      },
    ],
    ['image', { image: { reference: 'a' } }, { image: { reference: 'a', pullPolicy: 'Always' } }],
    [
      'ephemeral',
      { ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'] } } } },
      { ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' } } } },
    ],
    [
      'iscsi',
      { iscsi: { iqn: 'i', lun: 0, targetPortal: 't' } },
      { iscsi: { iqn: 'i', lun: 0, targetPortal: 't', iscsiInterface: 'default' } },
    ],
    [
      'rbd',
      { rbd: { image: 'i', monitors: ['m'] } },
      { rbd: { image: 'i', monitors: ['m'], pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
    ],
    [
      'azureDisk',
      { azureDisk: { diskName: 'd', diskURI: 'u' } },
      {
        azureDisk: {
          diskName: 'd',
          diskURI: 'u',
          cachingMode: 'ReadWrite',
          fsType: 'ext4',
          readOnly: false,
          kind: 'Shared',
        },
      },
    ],
    [
      'scaleIO',
      { scaleIO: { gateway: 'g', secretRef: {}, system: 's' } },
      { scaleIO: { gateway: 'g', secretRef: {}, system: 's', storageMode: 'ThinProvisioned', fsType: 'xfs' } },
    ],
  ])('defaultPod sets defaults of a volume: %s', (_, source, expected) => {
    expect(volume(source)).toEqual({ name: 'v', ...expected });
  });

  it.each<[string, Partial<Volume>]>([
    ['hostPath', { hostPath: { path: '/x', type: 'File' } }],
    ['secret', { secret: { defaultMode: 1 } }],
    ['configMap', { configMap: { defaultMode: 0 } }],
    [
      'downwardAPI',
      {
        downwardAPI: {
          defaultMode: 0,
          items: [
            { path: 'p', fieldRef: { apiVersion: 'v2', fieldPath: 'f' } },
            { path: 'q', resourceFieldRef: { resource: 'r', divisor: '1Mi' } },
          ],
        },
      },
    ],
    ['downwardAPI without items', { downwardAPI: { defaultMode: 1 } }],
    [
      'projected',
      { projected: { defaultMode: 0, sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 0 } }] } },
    ],
    ['projected without sources', { projected: { defaultMode: 1 } }],
    ['projected secret', { projected: { defaultMode: 1, sources: [{ secret: { name: 's' } }] } }],
    ['image', { image: { reference: 'a', pullPolicy: 'Never' } }],
    ['ephemeral', { ephemeral: { volumeClaimTemplate: { spec: { volumeMode: 'Block' } } } }],
    ['ephemeral without a template', { ephemeral: {} as never }],
    ['iscsi', { iscsi: { iqn: 'i', lun: 0, targetPortal: 't', iscsiInterface: 'x' } }],
    ['rbd', { rbd: { image: 'i', monitors: ['m'], pool: 'p', user: 'u', keyring: 'k' } }],
    [
      'azureDisk',
      { azureDisk: { diskName: 'd', diskURI: 'u', cachingMode: 'None', fsType: '', readOnly: true, kind: 'Managed' } },
    ],
    [
      'scaleIO',
      { scaleIO: { gateway: 'g', secretRef: {}, system: 's', storageMode: 'ThickProvisioned', fsType: 'ext4' } },
    ],
    ['nfs', { nfs: { path: '/', server: 's' } }],
  ])('defaultPod keeps all fields that a volume sets itself: %s', (_, source) => {
    expect(volume(source)).toEqual({ name: 'v', ...source });
  });

  it('defaultPod sets defaults of projected downward API items', () => {
    const sources = [{ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'f' } }] } }];
    const items = [{ path: 'p', fieldRef: { apiVersion: 'v1', fieldPath: 'f' } }];
    expect(volume({ projected: { sources } })?.projected?.sources).toEqual([{ downwardAPI: { items } }]);
  });

  it('defaultPod sets defaults of an empty volumeClaimTemplate', () => {
    const whole = { ephemeral: { volumeClaimTemplate: { spec: { volumeMode: 'Filesystem' } } } };
    expect(volume({ ephemeral: { volumeClaimTemplate: {} as never } })).toEqual({ name: 'v', ...whole });
  });

  it('defaultPod writes the quantities of all resource lists canonically', () => {
    const resources = { limits: { memory: '1024' }, requests: { cpu: '1000m' } };
    const written = { limits: { memory: '1024' }, requests: { cpu: '1', memory: '1024' } };
    const container = { name: 'c', resources };
    const spec = defaulted({
      containers: [container],
      initContainers: [container],
      ephemeralContainers: [container],
      overhead: { cpu: '2000m', memory: 'nonsense' },
    });
    expect(spec.containers[0]?.resources).toEqual(written);
    expect(spec.initContainers?.[0]?.resources).toEqual(written);
    // Ephemeral containers must not have resources, so no default requests are added to them.
    expect(spec.ephemeralContainers?.[0]?.resources).toEqual({ limits: { memory: '1024' }, requests: { cpu: '1' } });
    expect(spec.overhead).toEqual({ cpu: '2', memory: 'nonsense' });
    const asking = defaulted({ containers: [{ name: 'c', resources: { requests: { cpu: '1000m' } } }] });
    expect(asking.containers[0]?.resources).toEqual({ requests: { cpu: '1' } });
    expect(defaulted({})).not.toHaveProperty('overhead');
    expect(defaulted({})).not.toHaveProperty('resources');
  });

  it.each([
    ['only requests', { requests: { cpu: '1000m' } }, {}, { requests: { cpu: '1' } }],
    ['an invalid limit', { limits: { cpu: 'x' } }, {}, { limits: { cpu: 'x' }, requests: { cpu: 'x' } }],
    [
      'a pod-level request',
      { requests: { cpu: '1' }, limits: { cpu: '2' } },
      {},
      { requests: { cpu: '1' }, limits: { cpu: '2' } },
    ],
    [
      'requests of containers',
      { limits: { memory: '2' } },
      { requests: { cpu: '1', memory: '1', 'example.com/x': '1' } },
      {
        limits: { memory: '2' },
        requests: { cpu: '1', memory: '1' },
      },
    ],
    [
      'limits of resources that have no pod level',
      { limits: { 'example.com/x': '1' } },
      {},
      { limits: { 'example.com/x': '1' } },
    ],
    [
      'huge pages of containers',
      { requests: { cpu: '1' } },
      { limits: { 'hugepages-2Mi': '2Mi', memory: '1' } },
      {
        requests: { cpu: '1', 'hugepages-2Mi': '2Mi', memory: '1' },
        limits: { 'hugepages-2Mi': '2Mi' },
      },
    ],
    [
      'huge pages with a pod-level request',
      { requests: { 'hugepages-2Mi': '4Mi' } },
      { limits: { 'hugepages-2Mi': '2Mi' } },
      {
        requests: { 'hugepages-2Mi': '4Mi' },
      },
    ],
    [
      'huge pages with a pod-level limit',
      { limits: { 'hugepages-2Mi': '4Mi' } },
      { limits: { 'hugepages-2Mi': '2Mi' } },
      {
        limits: { 'hugepages-2Mi': '4Mi' },
        requests: { 'hugepages-2Mi': '4Mi' },
      },
    ],
    [
      'huge pages of containers if pod-level requests equal limits',
      { requests: { cpu: '1' }, limits: { cpu: '1' } },
      { limits: { 'hugepages-2Mi': '2Mi' } },
      {
        requests: { cpu: '1', 'hugepages-2Mi': '2Mi' },
        limits: { cpu: '1', 'hugepages-2Mi': '2Mi' },
      },
    ],
    ['no pod-level resources, beside huge pages of containers', {}, { limits: { 'hugepages-2Mi': '2Mi' } }, {}],
  ])('defaultPod completes pod-level resources: %s', (_, resources, ofContainer, expected) => {
    const containers = [{ name: 'c', resources: ofContainer as never }];
    expect(defaulted({ containers, resources: resources as never }).resources).toEqual(expected);
  });

  it('defaultPod sets missing requests of a container to its limits, and writes quantities canonically', () => {
    const resources = {
      limits: { cpu: 0.5, memory: '1024Mi' },
      requests: { memory: '0.1', 'example.com/x': 'nonsense' },
    };
    const spec = defaulted({ containers: [{ name: 'c', resources: resources as never }] });
    expect(spec.containers[0]?.resources).toEqual({
      limits: { cpu: '500m', memory: '1Gi' },
      requests: { cpu: '500m', memory: '100m', 'example.com/x': 'nonsense' },
    });
  });

  it('defaultPod sets missing pod-level requests from the containers, otherwise from the pod-level limits', () => {
    const containers = [{ name: 'c', resources: { requests: { cpu: '1' }, limits: { 'hugepages-2Mi': '4Mi' } } }];
    expect(defaulted({ containers, resources: { limits: { cpu: '2', memory: '1Gi' } } }).resources).toEqual({
      limits: { cpu: '2', memory: '1Gi', 'hugepages-2Mi': '4Mi' },
      requests: { cpu: '1', memory: '1Gi', 'hugepages-2Mi': '4Mi' },
    });
    expect(defaulted({ containers, resources: {} }).resources).toEqual({});
    const broken = [{ name: 'c', resources: { requests: { cpu: 'x' } } }];
    expect(defaulted({ containers: broken, resources: { limits: { cpu: '2' } } }).resources).toEqual({
      limits: { cpu: '2' },
    });
  });

  it('defaultPod sets serviceAccount and serviceAccountName to the same value; serviceAccountName takes precedence', () => {
    expect(defaulted({ serviceAccount: 'old' })).toMatchObject({ serviceAccount: 'old', serviceAccountName: 'old' });
    const both = { serviceAccount: 'old', serviceAccountName: 'new' };
    expect(defaulted(both)).toMatchObject({ serviceAccount: 'new', serviceAccountName: 'new' });
  });

  it('defaultPod treats null as absent', () => {
    const spec = {
      containers: [{ name: 'c', env: null, resources: { limits: null } }],
      volumes: null,
      dnsPolicy: null,
    };
    const { spec: result } = defaultPod({ spec } as unknown as Pod);
    expect(result).toMatchObject({ dnsPolicy: 'ClusterFirst', containers: [{ name: 'c', resources: {} }] });
    expect(JSON.stringify(result)).not.toContain('null');
  });

  it('defaultPod keeps null list items, which validation reports, and the order of lists', () => {
    const spec = { containers: [{ name: 'c', args: ['b', null, 'a'] }] };
    const { spec: result } = defaultPod({ spec } as unknown as Pod);
    expect(result.containers[0]?.args).toEqual(['b', null, 'a']);
    expect(defaultPod({ spec: {} } as unknown as Pod).spec.containers).toEqual([]);
  });

  it('defaultPod changes nothing when applied twice, and never changes its argument', () => {
    const pod = makePod({
      hostNetwork: true,
      containers: [{ name: 'c', ports: [{ containerPort: 1 }] }],
      volumes: [{ name: 'v' }],
    });
    const before = structuredClone(pod);
    const once = defaultPod(pod);
    expect(defaultPod(once)).toEqual(once);
    expect(pod).toEqual(before);
  });
});
