import { expect, test } from 'vitest';
import { cniConfig, containerdConfig, mirrorConfig } from '../src/config.ts';

const options = {
  root: '/t/root',
  state: '/t/state',
  socket: '/t/c.sock',
  runc: '/usr/sbin/runc',
  cniBinDir: '/usr/lib/cni',
  cniConfDir: '/t/cni',
  sandboxImage: 'node-agent.local/busybox:1',
  snapshotter: 'native',
  cdiDir: '/t/cdi',
};

test('writes the configuration sections of containerd 1.x and 2.x', () => {
  const old = containerdConfig({ ...options, version: '1.6.20' });
  expect(old).toMatch(/^version = 2$/m);
  expect(old).toContain('[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "node-agent.local/busybox:1"');
  const recent = containerdConfig({ ...options, version: '2.4.2' });
  expect(recent).toMatch(/^version = 3$/m);
  expect(recent).toContain('[plugins."io.containerd.cri.v1.images".pinned_images]');
  expect(recent).toContain('[plugins."io.containerd.nri.v1.nri"]\ndisable = true');
  for (const text of [old, recent]) {
    expect(text).toContain('snapshotter = "native"');
    expect(text).toContain('restrict_oom_score_adj = true');
    expect(text).toContain('netns_mounts_under_state_dir = true');
    expect(text).toContain('address = "/t/c.sock"');
  }
});

test('enables CDI with a directory of its own if containerd has CDI', () => {
  const dirs = 'cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi", "/t/cdi"]';
  const has = (version: string): boolean => containerdConfig({ ...options, version }).includes(dirs);
  expect(['1.6.20', '1.7.24', '2.0.1', '2.4.2'].map(has)).toEqual([false, true, true, true]);
});

test('configures a network with its own bridge', () => {
  const [plugin, ...others] = JSON.parse(
    cniConfig('na-1', '10.0.0.0/24', '/t/addresses', { masquerade: true, hostPorts: false, routed: false }),
  ).plugins;
  expect(plugin).toMatchObject({
    bridge: 'na-1',
    ipMasq: true,
    ipam: { dataDir: '/t/addresses', ranges: [[{ subnet: '10.0.0.0/24' }]] },
  });
  expect(others).toEqual([]);
});

test('host ports need the portmap plugin and a bridge in hairpin mode', () => {
  const { plugins } = JSON.parse(
    cniConfig('b', '10.0.0.0/24', '/t/a', { masquerade: false, hostPorts: true, routed: false }),
  );
  expect(plugins).toMatchObject([
    { type: 'bridge', hairpinMode: true },
    { type: 'portmap', capabilities: { portMappings: true } },
  ]);
});

test('a routed network gives each pod a link of its own and has no bridge', () => {
  const options = { masquerade: false, hostPorts: true, routed: true };
  const [link] = JSON.parse(cniConfig('b', '10.0.0.0/24', '/t/a', options)).plugins;
  expect(link).toMatchObject({ type: 'ptp', ipMasq: false, ipam: { ranges: [[{ subnet: '10.0.0.0/24' }]] } });
  expect(link).not.toHaveProperty('bridge');
});

test('writes runtime handlers and registries to the sections of each version', () => {
  const more = { ...options, handlers: ['test-handler'], registryHostsDir: '/t/registries' };
  for (const [version, cri, images] of [
    ['1.6.20', 'io.containerd.grpc.v1.cri', 'io.containerd.grpc.v1.cri'],
    ['2.4.2', 'io.containerd.cri.v1.runtime', 'io.containerd.cri.v1.images'],
  ]) {
    const text = containerdConfig({ ...more, version: version ?? '' });
    expect(text).toContain(`[plugins."${cri}".containerd.runtimes.test-handler]\nruntime_type`);
    expect(text).toContain(`[plugins."${cri}".containerd.runtimes.runc.options]\nBinaryName`);
    expect(text).toContain(`[plugins."${images}".registry]\nconfig_path = "/t/registries"`);
  }
});

test('mirrorConfig makes containerd pull and resolve images from the mirror', () => {
  expect(mirrorConfig('http://127.0.0.1:5')).toBe('[host."http://127.0.0.1:5"]\ncapabilities = ["pull", "resolve"]\n');
});
