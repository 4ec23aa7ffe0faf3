import { describe, expect, it } from 'vitest';
import { defaultPod, type Pod, type PodSpec, type Volume } from '../src/index.ts';
import { makePod } from './make-pod.ts';

const defaulted = (spec: Partial<PodSpec>): PodSpec => defaultPod(makePod(spec)).spec;
const volume = (source: Partial<Volume>): Volume | undefined =>
  defaulted({ volumes: [{ name: 'v', ...source }] }).volumes?.[0];

describe('defaultPod', () => {
  it('fills in what the API server would', () => {
    expect(defaultPod(makePod())).toEqual({
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
    expect(defaulted({ containers }).containers[0]?.ports).toEqual([
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
