import type { AdmitHandler } from '@node-agent/kubelet-core';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { ids, makePod, makeWorld, nodeSettings, startKubelet } from './node.ts';

const family = (ip: string): string => (ip.includes(':') ? 'IPv6' : 'IPv4');

describe('kubelet with all real managers', () => {
  test('the assembled kubelet runs a pod, shows its status, and cleans up everything after its removal', async () => {
    const world = await makeWorld();
    const { kubelet, setPods, stop } = startKubelet(world);
    setPods([makePod('web')]);
    await world.clock.advance(10_000);
    const [pod] = kubelet.getPods();
    expect(pod?.status).toMatchObject({ phase: 'Running', hostIP: '192.0.2.1' });
    expect(pod?.status?.containerStatuses?.[0]?.ready).toBe(true);
    expect(kubelet.explain('default', 'web')?.waitingFor).toEqual([]);
    expect((await kubelet.getRunningPods()).map(({ uid }) => uid)).toEqual(['uid-web']);

    setPods([]);
    await world.clock.advance(120_000);
    expect(kubelet.getPods()).toEqual([]);
    expect(await ids(world.cri)).toEqual([]);
    expect(await world.fs.readdir('/root/pods')).toEqual([]);
    await stop();
  });

  test('onPodCountChanged reports the number of pods whenever the number changes', async () => {
    const world = await makeWorld();
    const counts: number[] = [];
    const { setPods, stop } = startKubelet(world, [], undefined, [], {
      onPodCountChanged: (pods) => counts.push(pods),
    });
    setPods([makePod('web'), makePod('db')]);
    await world.clock.advance(10_000);
    expect(counts).toEqual([1, 2]);
    setPods([makePod('db')]);
    await world.clock.advance(10_000);
    expect(counts).toEqual([1, 2, 1]);
    await stop();
  });

  test.each([
    ['IPv4 first by default, even if the node has IPv6 first', undefined, ['IPv4', 'IPv6']],
    ['IPv6 first if podIpFamily is 6', 6, ['IPv6', 'IPv4']],
  ] as const)("shows a pod's two IPs in the order: %s", async (_name, podIpFamily, families) => {
    const world = await makeWorld({ podCidrs: ['fd01::/64', '10.1.0.0/16'] });
    const node = { ...nodeSettings, ...(podIpFamily && { podIpFamily }) };
    const changes = { nodeIps: ['2001:db8::1', '192.0.2.1'], node };
    const { kubelet, setPods, stop } = startKubelet(world, [], undefined, [], {}, changes);
    setPods([makePod('web')]);
    await world.clock.advance(10_000);
    const { podIP, podIPs = [], hostIP } = kubelet.getPods()[0]?.status ?? {};
    const shown = podIPs.map(({ ip }) => ip);
    expect([hostIP, podIP, ...shown.map(family)]).toEqual(['2001:db8::1', shown[0], ...families]);
    const hosts = new TextDecoder().decode(await world.fs.readFile('/root/pods/uid-web/etc-hosts'));
    expect(hosts.split('\n').flatMap((line) => (line.endsWith('\tweb') ? line.split('\t', 1) : []))).toEqual(shown);
    await stop();
  });

  test('F4, P4: replaces a static pod whose manifest changed while the kubelet was stopped, although the API server is unavailable', async () => {
    const world = await makeWorld();
    const edited = (uid: string): Pod => ({ ...makePod('etcd'), metadata: { ...makePod('etcd').metadata, uid } });
    const running = async (): Promise<string[]> => {
      const { containers } = await world.cri.listContainers({ filter: { state: { state: 1 } } });
      return containers.map(({ labels }) => labels['io.kubernetes.pod.uid'] ?? '');
    };
    const first = startKubelet(world);
    first.setPods([edited('old'), makePod('web')]);
    await world.clock.advance(10_000);
    expect((await running()).toSorted()).toEqual(['old', 'uid-web']);
    await first.stop();

    const second = startKubelet(world, [], undefined, ['api']);
    second.setPods([edited('new')]);
    await world.clock.advance(100);
    expect(second.kubelet.explain('default', 'etcd')?.waitingFor).toMatchObject([
      { what: 'name etcd_default: pod old holds the name, or still runs', sinceMs: expect.any(Number) },
    ]);
    await world.clock.advance(10_000);
    // F1: a pod without a namesake stays until the API server has reported that it is not desired.
    expect((await running()).toSorted()).toEqual(['new', 'uid-web']);

    // The manifest changes again while this kubelet runs.
    second.setPods([edited('newest')]);
    await world.clock.advance(10_000);
    expect((await running()).toSorted()).toEqual(['newest', 'uid-web']);
    await second.stop();
  });

  test('shows a pod as ready to start containers while its images are still being pulled', async () => {
    const world = await makeWorld();
    world.cri.faults.add({ rpc: 'pullImage', fault: { kind: 'hang' } });
    const { kubelet, setPods, stop } = startKubelet(world);
    setPods([makePod('web', { containers: [{ name: 'main', image: 'busybox', imagePullPolicy: 'Always' }] })]);
    await world.clock.advance(5_000);
    const [pod] = kubelet.getPods();
    expect(pod?.status?.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    const ready = pod?.status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers');
    expect(ready).toMatchObject({ status: 'True', lastTransitionTime: expect.stringMatching(/Z$/) });
    await stop();
  });

  test.each([
    ['the memory that pods may use on the node', { pods: '110', memory: '900Mi' }, 900 * 2 ** 20],
    ["the machine's memory if that amount is unknown", { pods: '110' }, 2 ** 30],
  ])('limits an emptyDir of medium Memory to %s', async (_name, nodeAllocatable, bytes) => {
    const world = await makeWorld();
    const { setPods, stop } = startKubelet(world, [], undefined, [], {}, { nodeAllocatable });
    const volumeMounts = [{ name: 'm', mountPath: '/m' }];
    setPods([
      makePod('web', {
        volumes: [{ name: 'm', emptyDir: { medium: 'Memory' } }],
        containers: [{ name: 'main', image: 'busybox', imagePullPolicy: 'Never', volumeMounts }],
      }),
    ]);
    await world.clock.advance(5000);
    expect(world.mounts.get('/root/pods/uid-web/volumes/kubernetes.io~empty-dir/m')).toMatch(`tmpfs size=${bytes}`);
    await stop();
  });

  test('rejects a pod that needs an unsupported feature, and the rejection names the field', async () => {
    const world = await makeWorld();
    const { kubelet, setPods, stop } = startKubelet(world);
    const csi = { name: 'data', csi: { driver: 'example.com' } };
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    setPods([
      makePod('mapped', { hostUsers: false }),
      makePod('csi', { volumes: [csi], containers: [{ name: 'main', image: 'busybox', volumeMounts }] }),
    ]);
    await world.clock.advance(5000);
    const shown = kubelet.getPods().map(({ status }) => [status?.phase, status?.reason, status?.message]);
    expect(shown).toEqual([
      ['Failed', 'UnsupportedFeature', expect.stringContaining('spec.hostUsers=false')],
      ['Failed', 'UnsupportedFeature', expect.stringContaining('data')],
    ]);
    expect(await ids(world.cri)).toEqual([]);
    await stop();
  });

  test('rejects a pod with sysctls that the node does not allow', async () => {
    const world = await makeWorld();
    const { kubelet, setPods, stop } = startKubelet(world);
    setPods([
      makePod('safe', { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] } }),
      makePod('unsafe', { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
    ]);
    await world.clock.advance(5000);
    expect(kubelet.getPods().map(({ status }) => [status?.phase, status?.message])).toEqual([
      ['Running', undefined],
      ['Failed', 'Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted'],
    ]);
    await stop();
  });

  test('does not start a pod with a RuntimeClass that cannot be looked up', async () => {
    const world = await makeWorld();
    const { setPods, stop } = startKubelet(world);
    setPods([makePod('sandboxed', { runtimeClassName: 'gvisor' })]);
    await world.clock.advance(5000);
    const pod = { kind: 'Pod', namespace: 'default', name: 'sandboxed', uid: 'uid-sandboxed' };
    const failed = world.events.eventsOf(pod).find(({ reason }) => reason === 'FailedCreatePodSandBox');
    expect(failed?.message).toBe(
      'Failed to create pod sandbox: runtimeclass.node.k8s.io "gvisor" cannot be looked up: no API server',
    );
    expect(await ids(world.cri)).toEqual([]);
    await stop();
  });

  test('fills downward API volumes without an API server, and rejects volumes that need one', async () => {
    const world = await makeWorld();
    const { kubelet, setPods, stop } = startKubelet(world);
    const items = [
      { path: 'name', fieldRef: { fieldPath: 'metadata.name' } },
      { path: 'memory', resourceFieldRef: { containerName: 'main', resource: 'limits.memory', divisor: '1Mi' } },
    ];
    const volumeMounts = [{ name: 'info', mountPath: '/info' }];
    const containers = [{ name: 'main', image: 'busybox', volumeMounts }];
    const token = { serviceAccountToken: { path: 'token' } };
    setPods([
      makePod('info', {
        volumes: [{ name: 'info', projected: { sources: [{ downwardAPI: { items } }] } }],
        containers,
      }),
      makePod('token', { volumes: [{ name: 'info', projected: { sources: [token] } }], containers }),
      makePod('conf', { volumes: [{ name: 'info', configMap: { name: 'cm' } }], containers }),
    ]);
    await world.clock.advance(10_000);
    expect(kubelet.getPods().map(({ status }) => [status?.phase, status?.message])).toEqual([
      ['Running', undefined],
      ['Failed', expect.stringContaining('projected source serviceAccountToken is not supported by this kubelet')],
      ['Failed', expect.stringContaining('type configMap is not supported by this kubelet')],
    ]);
    const read = async (file: string): Promise<string> => {
      const directory = '/root/pods/uid-info/volumes/kubernetes.io~projected/info';
      return new TextDecoder().decode(await world.fs.readFile(`${directory}/${file}`));
    };
    expect([await read('name'), await read('memory')]).toEqual(['info', '900']);
    await stop();
  });

  test('K1: a restarted kubelet adopts the running containers', async () => {
    const world = await makeWorld();
    const first = startKubelet(world);
    first.setPods([makePod('a'), makePod('b')]);
    await world.clock.advance(10_000);
    const before = await ids(world.cri);
    expect(before).toHaveLength(2);
    await first.stop();

    const second = startKubelet(world);
    second.setPods([makePod('a'), makePod('b')]);
    await world.clock.advance(60_000);
    expect(await ids(world.cri)).toEqual(before);
    expect(second.kubelet.getPods().map(({ status }) => status?.phase)).toEqual(['Running', 'Running']);
    await second.stop();
  });

  test('N1: pods from before a kubelet restart stay admitted, although a new pod would take their place', async () => {
    const oneOnly: AdmitHandler = {
      admit: (_pod, others) => (others.length === 0 ? { admit: true } : { admit: false, reason: 'Full', message: '' }),
    };
    const world = await makeWorld();
    const first = startKubelet(world, [oneOnly]);
    first.setPods([makePod('old')]);
    await world.clock.advance(10_000);
    const before = await ids(world.cri);
    await first.stop();

    const second = startKubelet(world, [oneOnly]);
    second.setPods([makePod('new'), makePod('old')]);
    await world.clock.advance(60_000);
    const shown = second.kubelet.getPods().map(({ metadata, status }) => `${metadata.name} ${status?.phase}`);
    expect(shown.sort()).toEqual(['new Failed', 'old Running']);
    expect(await ids(world.cri)).toEqual(before);
    await second.stop();
  });

  test('K4: the assembled kubelet leaves no timer after it has stopped', async () => {
    const world = await makeWorld();
    const { setPods, stop } = startKubelet(world);
    setPods([makePod('web')]);
    await world.clock.advance(10_000);
    await stop();
    expect(world.clock.pendingTimers).toBe(0);
  });
});
