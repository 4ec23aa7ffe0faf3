import { loadKubeletConfig } from '@node-agent/config';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { checkPod, defaultPod, type Pod, validatePod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubeletConfiguration, resolvConfOf } from '../src/kubelet-configuration.ts';
import { sampleManifests } from '../src/sample.ts';

test.each(['Never', 'IfNotPresent'] as const)(
  'each sample manifest is a valid pod with image pull policy %s',
  (pullPolicy) => {
    const manifests = sampleManifests({ name: 'example.com/box:1', pullPolicy });
    expect(manifests.map(({ fileName }) => fileName)).toEqual(['clock.yaml', 'crasher.yaml', 'shared.yaml']);
    for (const { text } of manifests) {
      const value: unknown = parse(text, { version: '1.1' });
      expect(checkPod(value)).toEqual([]);
      const pod = defaultPod(value as Pod);
      for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
        expect(container).toMatchObject({ image: 'example.com/box:1', imagePullPolicy: pullPolicy });
      }
      expect(validatePod({ ...pod, metadata: { ...pod.metadata, namespace: 'default', uid: 'u' } })).toEqual([]);
    }
  },
);

describe("the kubelet's configuration", () => {
  const settings = {
    endpoint: 'unix:///r/"x"/c.sock',
    manifests: '/r/m: n',
    podLogs: '/r/logs/pods',
    resolvConf: '/etc/resolv.conf',
    readOnlyPort: 12345,
    healthzPort: 12346,
  };

  test.each([1, 2] as const)('the sample node is accepted by the kubelet on cgroup v%i', async (cgroupVersion) => {
    const fs = new MemoryFileSystem({ clock: { now: () => 0 } });
    await fs.mkdir('/r');
    await fs.writeFile('/r/kubelet.yaml', kubeletConfiguration(settings));
    const argv = ['--config=/r/kubelet.yaml'];
    const { configuration } = await loadKubeletConfig({ argv, fs, workingDirectory: '/', cgroupVersion });
    expect(configuration).toMatchObject({
      containerRuntimeEndpoint: settings.endpoint,
      staticPodPath: settings.manifests,
      podLogsDir: settings.podLogs,
      readOnlyPort: 12345,
      healthzPort: 12346,
      failSwapOn: false,
    });
  });

  test.each([
    ['nameserver 127.0.0.53\n', true, '/run/systemd/resolve/resolv.conf'],
    ['nameserver 127.0.0.53\n', false, '/etc/resolv.conf'],
    ['nameserver 127.0.0.53\nnameserver 192.0.2.1\n', true, '/etc/resolv.conf'],
    ['# nameserver 127.0.0.53\nsearch example.com\n', true, '/etc/resolv.conf'],
  ])(
    'the sample node uses the resolver file with real name servers if /etc/resolv.conf is %j',
    (etcResolvConf, hasSystemdResolved, expected) => {
      expect(resolvConfOf({ etcResolvConf, hasSystemdResolved })).toBe(expected);
    },
  );
});
