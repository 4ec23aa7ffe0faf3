import { describe, expect, it } from 'vitest';
import {
  allContainers,
  annotatedSource,
  bareContainerId,
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  findContainer,
  formatContainerId,
  formatPod,
  isCriticalPod,
  isMirrorPod,
  isStaticPod,
  isTerminalPhase,
  normalizeSysctlName,
  parseContainerId,
  podFullName,
  podQosClass,
  podSource,
  resolveContainerPort,
} from '../src/index.ts';
import { makePod } from './make-pod.ts';

describe('facts about pods', () => {
  it('S1: Succeeded and Failed are the terminal phases', () => {
    const phases = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown', undefined];
    expect(phases.filter(isTerminalPhase)).toEqual(['Succeeded', 'Failed']);
  });

  it('podSource returns the source of a pod, which is api if no valid annotation names another one', () => {
    const of = (annotations: Record<string, string>): ReturnType<typeof makePod> => makePod({}, { annotations });
    expect(podSource(makePod())).toBe('api');
    expect(podSource(of({ 'kubernetes.io/config.source': 'file' }))).toBe('file');
    expect(podSource(of({ 'kubernetes.io/config.source': 'nonsense' }))).toBe('api');
    expect(isStaticPod(of({ 'kubernetes.io/config.source': 'http' }))).toBe(true);
    expect(isStaticPod(of({ 'kubernetes.io/config.source': 'api' }))).toBe(false);
    expect(isMirrorPod(of({ 'kubernetes.io/config.mirror': '' }))).toBe(true);
    expect(isMirrorPod(makePod())).toBe(false);
  });

  it.each([
    [{ 'kubernetes.io/config.source': 'file' }, 'file'],
    [{ 'kubernetes.io/config.source': 'http' }, 'http'],
    [{ 'kubernetes.io/config.source': 'api' }, 'api'],
    [{ 'kubernetes.io/config.source': 'nonsense' }, undefined],
    [{ 'kubernetes.io/config.hash': 'api' }, undefined],
    [undefined, undefined],
  ])('a pod with the annotations %j has the source %s', (annotations, source) => {
    expect(annotatedSource(annotations)).toBe(source);
  });

  it.each([
    [true, 'the annotation of a static pod', makePod({}, { annotations: { 'kubernetes.io/config.source': 'file' } })],
    [true, 'the annotation of a mirror pod', makePod({}, { annotations: { 'kubernetes.io/config.mirror': 'x' } })],
    [true, 'a system priority', makePod({ priority: 2_000_000_000 })],
    [false, 'a user priority', makePod({ priority: 1_999_999_999 })],
    [false, 'no priority', makePod()],
  ])('a pod with $1 is critical: $0', (expected, _, pod) => {
    expect(isCriticalPod(pod)).toBe(expected);
  });

  it("the names of the pod annotations are upstream's", () => {
    expect([
      CONFIG_SOURCE_ANNOTATION,
      CONFIG_MIRROR_ANNOTATION,
      CONFIG_HASH_ANNOTATION,
      CONFIG_SEEN_ANNOTATION,
    ]).toEqual(['source', 'mirror', 'hash', 'seen'].map((name) => `kubernetes.io/config.${name}`));
  });

  it('formatPod and podFullName format the full name of a pod for logs and for files', () => {
    expect(formatPod(makePod())).toBe('web_default(uid-1)');
    expect(podFullName(makePod())).toBe('web_default');
  });

  it("the QoS class comes from the pod's status if set, otherwise from its spec", () => {
    expect(podQosClass({ ...makePod(), status: { qosClass: 'Guaranteed' } })).toBe('Guaranteed');
    expect(podQosClass({ ...makePod(), status: { qosClass: 'Burstable' } })).toBe('Burstable');
    expect(podQosClass({ ...makePod(), status: { qosClass: 'Other' } })).toBe('BestEffort');
    const asking = makePod({ containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] });
    expect(podQosClass(asking)).toBe('Burstable');
    expect(podQosClass({ ...asking, status: { qosClass: 'BestEffort' } })).toBe('BestEffort');
    expect(podQosClass(makePod())).toBe('BestEffort');
  });

  it('allContainers visits every container of a pod with its type and the field path for events', () => {
    const pod = makePod({
      initContainers: [
        { name: 'first' },
        { name: 'side', restartPolicy: 'Always' },
        { name: 'rule', restartPolicy: 'Never' },
      ],
      containers: [{ name: 'main' }],
      ephemeralContainers: [{ name: 'debug' }],
    });
    expect(
      [...allContainers(pod)].map(({ container, type, index, fieldPath }) => [container.name, type, index, fieldPath]),
    ).toEqual([
      ['first', 'init', 0, 'spec.initContainers{first}'],
      ['side', 'sidecar', 1, 'spec.initContainers{side}'],
      ['rule', 'init', 2, 'spec.initContainers{rule}'],
      ['main', 'main', 0, 'spec.containers{main}'],
      ['debug', 'ephemeral', 0, 'spec.ephemeralContainers{debug}'],
    ]);
    expect(findContainer(pod, 'side')?.type).toBe('sidecar');
    expect(findContainer(pod, 'gone')).toBeUndefined();
  });

  it.each([
    [8080, 8080],
    ['http', 80],
    ['8080', 8080],
    ['gone', undefined],
    [0, undefined],
    [1, 1],
    [65535, 65535],
    [65536, undefined],
    ['-1', undefined],
    ['80x', undefined],
    ['1e3', undefined],
    [' 80', undefined],
    ['x80', undefined],
    ['', undefined],
  ])('resolveContainerPort finds for the port %j the number %j', (port, expected) => {
    expect(resolveContainerPort({ ports: [{ name: 'http', containerPort: 80 }] }, port)).toBe(expected);
  });

  it.each([
    ['', ''],
    ['kernel', 'kernel'],
    ['net.ipv4.ip_forward', 'net.ipv4.ip_forward'],
    ['net/ipv4/ip_forward', 'net.ipv4.ip_forward'],
    ['net.ipv4.conf.eno2/100.rp_filter', 'net.ipv4.conf.eno2/100.rp_filter'],
    ['net/ipv4/conf/eno2.100/rp_filter', 'net.ipv4.conf.eno2/100.rp_filter'],
  ])('normalizeSysctlName turns the sysctl %j into %j', (name, expected) => {
    expect(normalizeSysctlName(name)).toBe(expected);
  });
});

describe('container ids', () => {
  it('container IDs of the API are formatted and parsed', () => {
    expect(parseContainerId('containerd://abc')).toEqual({ runtime: 'containerd', id: 'abc' });
    expect(parseContainerId('"cri-o://abc"')).toEqual({ runtime: 'cri-o', id: 'abc' });
    expect(formatContainerId({ runtime: 'containerd', id: 'abc' })).toBe('containerd://abc');
  });

  it.each(['', 'abc', 'a://b://c'])('parseContainerId refuses the container ID %j', (text) => {
    const message = `invalid container ID: ${JSON.stringify(text)}`;
    expect(() => parseContainerId(text)).toThrow(expect.objectContaining({ code: 'InvalidContainerId', message }));
  });

  it.each([
    ['containerd://abc', 'abc'],
    ['://abc', 'abc'],
    ['a://b://c', 'b://c'],
    ['containerd://', ''],
    ['abc', ''],
    ['', ''],
    [undefined, ''],
  ])('the container ID %j of the API has the runtime ID %j', (text, id) => {
    expect(bareContainerId(text)).toBe(id);
  });
});
