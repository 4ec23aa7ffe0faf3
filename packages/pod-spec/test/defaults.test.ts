import { describe, expect, it } from 'vitest';
import { defaultPod, type Pod, type PodSpec, type Volume } from '../src/index.ts';
import { makePod } from './make-pod.ts';

const defaulted = (spec: Partial<PodSpec>): PodSpec => defaultPod(makePod(spec)).spec;
const volume = (source: Partial<Volume>): Volume | undefined =>
  defaulted({ volumes: [{ name: 'v', ...source }] }).volumes?.[0];

describe('defaultPod', () => {
  it('fills in what the API server would', () => {
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

  it('leaves alone what is there, zero and false too', () => {
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
  ])('gives %j seconds of grace where %j are asked for', (expected, terminationGracePeriodSeconds) => {
    const asked = terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds };
    expect(defaulted(asked).terminationGracePeriodSeconds).toBe(expected);
  });

  it('leaves all alone that a container says itself, of each kind of container', () => {
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

  it('completes init containers, and ephemeral ones but for their ports', () => {
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

  it('completes hooks before and after', () => {
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

  it('takes the shortest period for a negative one, and writes the divisor that stands for none', () => {
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
  ])('pulls %s: %s', (image, imagePullPolicy) => {
    const container = { name: 'c', ...(image === undefined ? {} : { image }) };
    expect(defaulted({ containers: [container] }).containers[0]).toMatchObject({ imagePullPolicy });
    expect(defaulted({ ephemeralContainers: [container] }).ephemeralContainers?.[0]).toMatchObject({ imagePullPolicy });
  });

  it('completes ports, with the host port of a pod on the host network', () => {
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

  it('completes probes, hooks and references to fields', () => {
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
  ])('completes a volume: %s', (_, source, expected) => {
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
  ])('leaves a volume alone that says all itself: %s', (_, source) => {
    expect(volume(source)).toEqual({ name: 'v', ...source });
  });

  it('completes what of the downward API is projected', () => {
    const sources = [{ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'f' } }] } }];
    const items = [{ path: 'p', fieldRef: { apiVersion: 'v1', fieldPath: 'f' } }];
    expect(volume({ projected: { sources } })?.projected?.sources).toEqual([{ downwardAPI: { items } }]);
  });

  it('completes a claim whose template says nothing', () => {
    const whole = { ephemeral: { volumeClaimTemplate: { spec: { volumeMode: 'Filesystem' } } } };
    expect(volume({ ephemeral: { volumeClaimTemplate: {} as never } })).toEqual({ name: 'v', ...whole });
  });

  it('writes the quantities of every list canonically', () => {
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
    ['requests alone', { requests: { cpu: '1000m' } }, {}, { requests: { cpu: '1' } }],
    ['a limit that is no number', { limits: { cpu: 'x' } }, {}, { limits: { cpu: 'x' }, requests: { cpu: 'x' } }],
    [
      'its own request',
      { requests: { cpu: '1' }, limits: { cpu: '2' } },
      {},
      { requests: { cpu: '1' }, limits: { cpu: '2' } },
    ],
    [
      'what containers ask for',
      { limits: { memory: '2' } },
      { requests: { cpu: '1', memory: '1', 'example.com/x': '1' } },
      {
        limits: { memory: '2' },
        requests: { cpu: '1', memory: '1' },
      },
    ],
    [
      'limits of what a pod cannot ask for as a whole',
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
      'huge pages that it asks for itself',
      { requests: { 'hugepages-2Mi': '4Mi' } },
      { limits: { 'hugepages-2Mi': '2Mi' } },
      {
        requests: { 'hugepages-2Mi': '4Mi' },
      },
    ],
    [
      'huge pages that it limits itself',
      { limits: { 'hugepages-2Mi': '4Mi' } },
      { limits: { 'hugepages-2Mi': '2Mi' } },
      {
        limits: { 'hugepages-2Mi': '4Mi' },
        requests: { 'hugepages-2Mi': '4Mi' },
      },
    ],
    [
      'huge pages of containers, where it asks for as much as it limits',
      { requests: { cpu: '1' }, limits: { cpu: '1' } },
      { limits: { 'hugepages-2Mi': '2Mi' } },
      {
        requests: { cpu: '1', 'hugepages-2Mi': '2Mi' },
        limits: { cpu: '1', 'hugepages-2Mi': '2Mi' },
      },
    ],
    ['nothing, beside huge pages', {}, { limits: { 'hugepages-2Mi': '2Mi' } }, {}],
  ])('completes what a pod asks for as a whole: %s', (_, resources, ofContainer, expected) => {
    const containers = [{ name: 'c', resources: ofContainer as never }];
    expect(defaulted({ containers, resources: resources as never }).resources).toEqual(expected);
  });

  it('asks for as much as is allowed where a container says nothing, and writes quantities canonically', () => {
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

  it('completes what a pod asks for as a whole from its containers, then from its limits', () => {
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

  it('keeps both names of the service account the same; the new one wins', () => {
    expect(defaulted({ serviceAccount: 'old' })).toMatchObject({ serviceAccount: 'old', serviceAccountName: 'old' });
    const both = { serviceAccount: 'old', serviceAccountName: 'new' };
    expect(defaulted(both)).toMatchObject({ serviceAccount: 'new', serviceAccountName: 'new' });
  });

  it('takes null for nothing', () => {
    const spec = {
      containers: [{ name: 'c', env: null, resources: { limits: null } }],
      volumes: null,
      dnsPolicy: null,
    };
    const { spec: result } = defaultPod({ spec } as unknown as Pod);
    expect(result).toMatchObject({ dnsPolicy: 'ClusterFirst', containers: [{ name: 'c', resources: {} }] });
    expect(JSON.stringify(result)).not.toContain('null');
  });

  it('keeps absent list items for the validation to report, and the order of all others', () => {
    const spec = { containers: [{ name: 'c', args: ['b', null, 'a'] }] };
    const { spec: result } = defaultPod({ spec } as unknown as Pod);
    expect(result.containers[0]?.args).toEqual(['b', null, 'a']);
    expect(defaultPod({ spec: {} } as unknown as Pod).spec.containers).toEqual([]);
  });

  it('changes nothing the second time, nor ever what it was given', () => {
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
