import type { Pod, Volume } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import type { ConfigMapData, ProjectionSources, SecretData, TokenRequest } from '../src/projected/sources.ts';
import { errorOf, type Fixture, podOf, ROOT, setUp } from './helpers.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Objects of a fake API server, which tests change. */
class Objects implements ProjectionSources {
  readonly secrets = new Map<string, SecretData>([['default/s', { data: { password: base64('hunter2') } }]]);
  readonly configMaps = new Map<string, ConfigMapData>([['default/cm', { data: { a: '1', b: '2' } }]]);
  readonly requests: TokenRequest[] = [];
  token = 'token-1';
  failure: Error | undefined;
  /** Promise for which token requests wait before they are answered. */
  answering: Promise<void> = Promise.resolve();

  readonly nodeAllocatable = () => ({ cpu: '4' });
  readonly objects = {
    getSecret: async (namespace: string, name: string) => this.#answer(this.secrets.get(`${namespace}/${name}`)),
    getConfigMap: async (namespace: string, name: string) => this.#answer(this.configMaps.get(`${namespace}/${name}`)),
  };
  readonly tokens = {
    getServiceAccountToken: async (_pod: Pod, request: TokenRequest) => {
      this.requests.push(request);
      await this.answering;
      return this.#answer(this.token);
    },
  };

  #answer<T>(value: T): T {
    if (this.failure !== undefined) throw this.failure;
    return value;
  }
}

const configMap: Volume = { name: 'conf', configMap: { name: 'cm' } };
const secret: Volume = { name: 'keys', secret: { secretName: 's', defaultMode: 0o400 } };
const downward: Volume = {
  name: 'info',
  downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
};
const access: Volume = {
  name: 'access',
  projected: {
    defaultMode: 0o444,
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
      { configMap: { name: 'cm', items: [{ key: 'a', path: 'ca.crt' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
      { secret: { name: 's', items: [{ key: 'password', path: 'namespace', mode: 0o400 }] } },
    ],
  },
};
const HOST: Readonly<Record<string, string>> = {
  conf: 'configmap',
  keys: 'secret',
  info: 'downward-api',
  access: 'projected',
};
const directoryOf = (name: string): string => `${ROOT}/pods/u1/volumes/kubernetes.io~${HOST[name]}/${name}`;
const read = async ({ fs }: Fixture, volume: string, file: string): Promise<string> =>
  Buffer.from(await fs.readFile(`${directoryOf(volume)}/${file}`)).toString();

function make(): { objects: Objects; fixture: Fixture } {
  const objects = new Objects();
  return { objects, fixture: setUp({}, objects) };
}

describe('ConfigMap, Secret, downward API and projected volumes', () => {
  it("configMap, secret, downward API and projected volumes are at upstream's paths and read-only in containers", async () => {
    const { fixture } = make();
    const pod = podOf([configMap, secret, downward, access]);
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    expect(await read(fixture, 'conf', 'b')).toBe('2');
    expect(await read(fixture, 'keys', 'password')).toBe('hunter2');
    expect(await read(fixture, 'info', 'labels')).toBe('');
    expect(await read(fixture, 'access', 'token')).toBe('token-1');
    expect(await read(fixture, 'access', 'ca.crt')).toBe('1');
    // If two files have one path, then the later source's file is kept.
    expect(await read(fixture, 'access', 'namespace')).toBe('hunter2');
    expect(await fixture.fs.stat(`${directoryOf('access')}/token`)).toMatchObject({ mode: 0o444 });
    expect(await fixture.fs.stat(`${directoryOf('access')}/namespace`)).toMatchObject({ mode: 0o400 });
    expect(fixture.under('u1')).toContain('plugins/kubernetes.io~empty-dir/wrapped_conf/ready');
    const [container] = pod.spec.containers;
    if (container === undefined) throw new Error('no container');
    const mounts = await fixture.manager.containerMounts(pod, container, [], fixture.signal);
    expect(mounts.map(({ readOnly, hostPath }) => `${readOnly} ${hostPath}`)).toEqual(
      ['conf', 'keys', 'info', 'access'].map((name) => `true ${directoryOf(name)}`),
    );
  });

  it('W4: secret, downward API and projected volumes are on tmpfs, configMap volumes on disk, and removal leaves none of them', async () => {
    const { fixture } = make();
    const pod = podOf([configMap, secret, downward, access]);
    await fixture.manager.makePodDataDirs('u1');
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    const mounted = [...(await fixture.mounter.mountPoints())].sort();
    expect(mounted).toEqual(['access', 'info', 'keys'].map((name) => [directoryOf(name), 'tmpfs']).sort());
    await fixture.newManager().waitForUnmount(pod, fixture.signal);
    expect(await fixture.newManager().podVolumesExist('u1')).toBe(false);
    expect(fixture.under('u1').filter((path) => /(\/|_)(conf|keys|info|access)/.test(path))).toEqual([]);
    expect((await fixture.mounter.mountPoints()).size).toBe(0);
  });

  it('W4: if the tmpfs of a secret volume cannot be mounted, no secret is written to the disk', async () => {
    const { fixture } = make();
    fixture.mounter.mount = () => Promise.reject(new Error('no mounts here'));
    const error = await errorOf(fixture.manager.waitForAttachAndMount(podOf([secret]), fixture.signal));
    expect(error.message).toContain('no mounts here');
    expect(await fixture.fs.readdir(directoryOf('keys'))).toEqual([]);
  });

  it('a sync updates configMap and secret volumes with all changes since the last sync', async () => {
    const { objects, fixture } = make();
    const pod = podOf([configMap, downward, access]);
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    objects.configMaps.set('default/cm', { data: { a: 'one' } });
    objects.token = 'token-2';
    const labelled = { ...pod, metadata: { ...pod.metadata, labels: { app: 'web' } } };
    await fixture.manager.waitForAttachAndMount(labelled, fixture.signal);
    await fixture.clock.settle();
    expect(await read(fixture, 'conf', 'a')).toBe('one');
    expect(await fixture.fs.exists(`${directoryOf('conf')}/b`)).toBe(false);
    expect(await read(fixture, 'info', 'labels')).toBe('app="web"');
    expect(await read(fixture, 'access', 'token')).toBe('token-2');
    expect(fixture.mounter.asked.filter((what) => what.startsWith('mount'))).toHaveLength(2);
  });

  it('a volume whose Secret cannot be read keeps its files and emits an event; after a restart, the pod waits for the Secret', async () => {
    const { objects, fixture } = make();
    const pod = podOf([configMap, secret]);
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    objects.failure = new Error('the server does not answer');
    await fixture.clock.advance(30_000);
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    await fixture.clock.settle();
    expect(await read(fixture, 'keys', 'password')).toBe('hunter2');
    expect(fixture.events).toEqual(
      ['conf', 'keys'].map(
        (name) => `FailedMount: MountVolume.SetUp failed for volume "${name}" : the server does not answer`,
      ),
    );
    const error = await errorOf(fixture.newManager().waitForAttachAndMount(pod, fixture.signal));
    expect(error.message).toContain('unmounted volumes=[conf keys]');
  });

  it('a pod waits for a missing required ConfigMap or Secret and does not wait for an optional one', async () => {
    const { objects, fixture } = make();
    const volumes = [
      { name: 'conf', configMap: { name: 'later' } },
      { name: 'keys', secret: { secretName: 'never', optional: true } },
    ];
    const error = await errorOf(fixture.manager.waitForAttachAndMount(podOf(volumes), fixture.signal));
    expect(error.message).toBe(
      'unmounted volumes=[conf], unattached volumes=[], failed to process volumes=[]: configmap "later" not found',
    );
    expect(await fixture.fs.exists(directoryOf('conf'))).toBe(false);
    expect(await fixture.fs.exists(directoryOf('keys'))).toBe(true);
    objects.configMaps.set('default/later', { data: { x: 'y' } });
    await fixture.clock.advance(500);
    await fixture.manager.waitForAttachAndMount(podOf(volumes), fixture.signal);
    expect(await read(fixture, 'conf', 'x')).toBe('y');
  });

  it('a token volume is mounted in parallel with the token request, and the token is written after both', async () => {
    const { objects, fixture } = make();
    const { promise, resolve } = Promise.withResolvers<void>();
    objects.answering = promise;
    const mounted = fixture.manager.waitForAttachAndMount(podOf([access]), fixture.signal);
    await fixture.clock.settle();
    expect([...(await fixture.mounter.mountPoints())]).toEqual([[directoryOf('access'), 'tmpfs']]);
    expect(await fixture.fs.readdir(directoryOf('access'))).toEqual([]);
    resolve();
    await mounted;
    expect(await read(fixture, 'access', 'token')).toBe('token-1');
    expect(fixture.mounter.asked).toHaveLength(1);
  });

  it('a volume whose Secret is missing is not left mounted; a retry mounts it only after the Secret exists', async () => {
    const { objects, fixture } = make();
    objects.failure = new Error('the server does not answer');
    const pod = podOf([access]);
    for (let tries = 0; tries < 3; tries++) {
      expect((await errorOf(fixture.manager.waitForAttachAndMount(pod, fixture.signal))).code).toBe('NotMounted');
      expect(await fixture.fs.exists(directoryOf('access'))).toBe(false);
      expect((await fixture.mounter.mountPoints()).size).toBe(0);
      await fixture.clock.advance(5000);
    }
    expect(fixture.mounter.asked.filter((what) => what.startsWith('mount'))).toHaveLength(1);
    objects.failure = undefined;
    await fixture.clock.advance(120_000);
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    expect(await read(fixture, 'access', 'token')).toBe('token-1');
  });

  it('K1: a volume keeps its files if a restarted kubelet cannot read the Secret, even if the volume was not recorded as ready', async () => {
    const { objects, fixture } = make();
    const pod = podOf([access]);
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    objects.failure = new Error('the server does not answer');
    await fixture.fs.removeAll(`${ROOT}/pods/u1/plugins`);
    await errorOf(fixture.newManager().waitForAttachAndMount(pod, fixture.signal));
    expect(await read(fixture, 'access', 'token')).toBe('token-1');
  });

  it('the error of a projected volume names all its missing ConfigMaps and Secrets', async () => {
    const { objects, fixture } = make();
    objects.secrets.clear();
    objects.configMaps.clear();
    const error = await errorOf(fixture.manager.waitForAttachAndMount(podOf([access]), fixture.signal));
    expect(error.message).toContain('[configmap "cm" not found, secret "s" not found]');
    expect(error.message).not.toContain('token-1');
  });

  it("service account tokens are requested with the pod's audience and expiry, and only the pod's user and group can read their files", async () => {
    const { objects, fixture } = make();
    const sources = [{ serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 600 } }];
    const volume = { name: 'access', projected: { defaultMode: 0o644, sources } };
    const pod = podOf([volume], 'u1', { securityContext: { runAsUser: 1000, fsGroup: 2000 } });
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    expect(await fixture.fs.stat(`${directoryOf('access')}/token`)).toMatchObject({
      mode: 0o640,
      uid: 1000,
      gid: 2000,
    });
    expect(await fixture.fs.stat(directoryOf('access'))).toMatchObject({ mode: 0o3777, gid: 2000 });
    expect(objects.requests).toEqual([{ audience: 'vault', expirationSeconds: 600 }]);
  });

  it('a projected clusterTrustBundle is selected by name or signer and may be optional', async () => {
    const asked: unknown[] = [];
    const trustBundles = {
      byName: async (...[name, optional]: [string, boolean, AbortSignal]) => {
        asked.push([name, optional]);
        return 'PEM 1';
      },
      bySigner: async (...[signer, selector, optional]: [string, object | undefined, boolean, AbortSignal]) => {
        asked.push([signer, selector, optional]);
        return 'PEM 2';
      },
    };
    const fixture = setUp({}, { trustBundles });
    const labelSelector = { matchLabels: { app: 'web' } };
    const sources = [
      { clusterTrustBundle: { name: 'b', path: 'one.pem' } },
      { clusterTrustBundle: { signerName: 'example.com/s', labelSelector, optional: true, path: 'two.pem' } },
    ];
    const pod = podOf([{ name: 'access', projected: { sources } }], 'u1', { securityContext: { runAsUser: 7 } });
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    expect(await read(fixture, 'access', 'one.pem')).toBe('PEM 1');
    expect(await read(fixture, 'access', 'two.pem')).toBe('PEM 2');
    expect(await fixture.fs.stat(`${directoryOf('access')}/two.pem`)).toMatchObject({ mode: 0o600, uid: 7 });
    expect(asked).toEqual([
      ['b', false],
      ['example.com/s', labelSelector, true],
    ]);
    const neither = { name: 'access', projected: { sources: [{ clusterTrustBundle: { path: 'x' } }] } };
    const error = await errorOf(fixture.manager.waitForAttachAndMount(podOf([neither], 'u2'), fixture.signal));
    expect(error.message).toContain('requires either name or signerName to be set');
  });

  it('a volume that the kubelet writes contains mount points for the volumes that containers mount below it', async () => {
    const { fixture } = make();
    const volumeMounts = [
      { name: 'conf', mountPath: '/etc/app' },
      { name: 'keys', mountPath: '/etc/app/keys' },
    ];
    const pod = podOf([configMap, secret], 'u1', { containers: [{ name: 'main', volumeMounts }] });
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    expect((await fixture.fs.stat(`${directoryOf('conf')}/keys`)).kind).toBe('directory');
  });

  // Scanning all mounts for each volume would exceed the test's timeout.
  it('W6: setup time of a pod with many configMap volumes grows linearly', async () => {
    const { manager, fs, signal } = setUp({}, new Objects());
    const names = Array.from({ length: 8000 }, (_, index) => `conf-${index}`);
    const pod = podOf(names.map((name) => ({ name, configMap: { name: 'cm' } })));
    await manager.waitForAttachAndMount(pod, signal);
    const last = await fs.readFile(`${manager.volumePath(pod, 'conf-7999')}/a`);
    expect(Buffer.from(last).toString()).toBe('1');
  });

  it('refuses configMap, secret, projected and downward API volumes by name if the manager has no component that provides their data', async () => {
    const { manager, signal } = setUp();
    const bundle = { clusterTrustBundle: { path: 'ca', name: 'b' } };
    const other = { name: 'other', projected: { sources: [bundle] } };
    const plain = { name: 'plain', projected: { sources: [{ downwardAPI: { items: [] } }] } };
    const pod = podOf([configMap, secret, downward, access, other, plain]);
    expect(manager.unsupported(pod)).toEqual([
      'volume conf: type configMap is not supported by this kubelet',
      'volume keys: type secret is not supported by this kubelet',
      'volume access: projected source serviceAccountToken, configMap, secret is not supported by this kubelet',
      'volume other: projected source clusterTrustBundle is not supported by this kubelet',
    ]);
    const error = await errorOf(manager.waitForAttachAndMount(pod, signal));
    expect(error.message).toContain('failed to process volumes=[access conf keys other]');
    expect(error.message).toContain('unmounted volumes=[access conf keys other]');
  });

  it('K1: after a kill at any write, the restarted kubelet completes the volumes of a running pod and removes those of a deleted pod', async () => {
    let killed = 0;
    for (let after = 0; after < 150; after += 3) {
      const { fixture } = make();
      const { fs, manager, newManager, signal } = fixture;
      const pod = podOf([configMap, access]);
      const fault = fs.injectFault({ code: 'EIO', skip: after, times: Number.POSITIVE_INFINITY });
      await manager.waitForAttachAndMount(pod, signal).catch(() => killed++);
      fault.remove();
      await newManager().waitForAttachAndMount(pod, signal);
      expect(await read(fixture, 'conf', 'a')).toBe('1');
      expect(await read(fixture, 'access', 'token')).toBe('token-1');
      expect(await fs.readdir(directoryOf('conf'))).toHaveLength(4);
      await newManager().cleanupOrphanedPodDirs(() => false);
      expect(fixture.under('u1')).toEqual([]);
    }
    expect(killed).toBeGreaterThan(10);
  });
});
