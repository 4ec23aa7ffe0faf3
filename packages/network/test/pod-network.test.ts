import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { type ObjectReference, silentLogger } from '@node-agent/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { PodNetwork, type PodNetworkOptions } from '../src/pod-network.ts';
import { makePod } from './fixtures.ts';

let fs: MemoryFileSystem;
let events: string[];

beforeEach(async () => {
  fs = new MemoryFileSystem({ clock: new FakeClock() });
  events = [];
  await fs.mkdir('/etc');
  await fs.writeFile('/etc/resolv.conf', 'nameserver 192.168.0.1\nsearch corp.example\n');
  await fs.writeFile('/etc/hosts', '127.0.0.1\tlocalhost node-1\n');
});

function makeNetwork(options: Partial<PodNetworkOptions> = {}): PodNetwork {
  const recorder = {
    event: ({ kind, name }: ObjectReference, type: string, reason: string, message: string) =>
      void events.push(`${kind}/${name} ${type} ${reason} ${message}`),
  };
  return new PodNetwork(
    { fs, recorder, logger: silentLogger },
    { rootDirectory: '/root', nodeName: 'node-1', ...options },
  );
}

async function read(path: string): Promise<string> {
  return new TextDecoder().decode(await fs.readFile(path));
}

describe('W5: a hosts file that its containers write to', () => {
  /** Returns how many bytes are read from files during an operation, and how many are held at once. */
  async function bytesRead(network: (fs: MemoryFileSystem) => Promise<unknown>): Promise<number> {
    let bytes = 0;
    const counted = new Proxy(fs, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          const result: unknown = await Reflect.apply(value, target, args);
          if (result instanceof Uint8Array) bytes += result.length;
          if (typeof result !== 'object' || result === null || !('read' in result)) return result;
          const file = result as Awaited<ReturnType<MemoryFileSystem['open']>>;
          return {
            stat: () => file.stat(),
            close: () => file.close(),
            async read(position: number, length: number) {
              const part = await file.read(position, length);
              bytes += part.length;
              return part;
            },
          };
        };
      },
    });
    await network(counted);
    return bytes;
  }
  const path = '/root/pods/uid-1/etc-hosts';
  const mount = (files: MemoryFileSystem) =>
    new PodNetwork(
      { fs: files, recorder: { event: () => {} }, logger: silentLogger },
      { rootDirectory: '/root', nodeName: 'node-1' },
    ).hostsMount(makePod(), { name: 'app' }, ['10.0.0.1']);

  it('W5: no more of a large hosts file is read than its expected size, and it is rewritten in place', async () => {
    await mount(fs);
    const right = await read(path);
    const { inode } = await fs.stat(path);
    await fs.writeFile(path, `${right}${'#'.repeat(1_000_000)}`);
    expect(await bytesRead(mount)).toBeLessThanOrEqual(right.length + 1);
    expect([await read(path), (await fs.stat(path)).inode]).toEqual([right, inode]);
    await fs.writeFile(path, 'x'.repeat(right.length));
    await mount(fs);
    expect(await read(path)).toBe(right);
  });

  it("W5: the size of the node's hosts file is limited for a pod on the host network", async () => {
    await fs.writeFile('/etc/hosts', 'x'.repeat(16 * 2 ** 20 + 1));
    const pod = makePod({ hostNetwork: true });
    await expect(makeNetwork().hostsMount(pod, { name: 'app' }, [])).rejects.toThrow(
      "EFBIG: more than 16777216 bytes, read '/etc/hosts'",
    );
  });
});

describe('podDns', () => {
  it("podDns uses the current content of the node's resolver file", async () => {
    const network = makeNetwork();
    const pod = makePod({ dnsPolicy: 'Default' });
    expect(await network.podDns(pod)).toMatchObject({ servers: ['192.168.0.1'], searches: ['corp.example'] });
    await fs.writeFile('/etc/resolv.conf', 'nameserver 192.168.0.2\n');
    expect(await network.podDns(pod)).toMatchObject({ servers: ['192.168.0.2'] });
    expect(events).toEqual([]);
  });

  it('podDns records events on the pod and on the node for a missing cluster DNS', async () => {
    await makeNetwork().podDns(makePod());
    await makeNetwork().podDns(makePod({ dnsPolicy: 'None', dnsConfig: { nameservers: ['1', '2', '3', '4'] } }));
    expect(events).toEqual([
      expect.stringMatching(/^Node\/node-1 Warning MissingClusterDNS kubelet does not have ClusterDNS IP/),
      expect.stringMatching(/^Pod\/web Warning MissingClusterDNS pod: "web_shop\(uid-1\)"/),
      expect.stringMatching(/^Pod\/web Warning DNSConfigForming Nameserver limits were exceeded/),
    ]);
  });

  it('podDns warns once per pod, however often it is called', async () => {
    const network = makeNetwork();
    for (let restarts = 0; restarts < 3; restarts++) await network.podDns(makePod());
    expect(events).toHaveLength(2);
  });

  it('podDns fails with the path if the resolver file is missing, invalid or too large', async () => {
    const podDns = (): Promise<unknown> => makeNetwork({ resolvConfPath: '/etc/r' }).podDns(makePod());
    await expect(podDns()).rejects.toMatchObject({
      code: 'Io',
      message: expect.stringMatching(/^resolver file \/etc\/r: ENOENT/),
    });
    await fs.writeFile('/etc/r', 'nameserver');
    await expect(podDns()).rejects.toMatchObject({
      code: 'InvalidResolvConf',
      message: 'resolver file /etc/r: line 1: nameserver list is empty',
    });
    await fs.writeFile('/etc/r', new Uint8Array((10 << 20) + 1));
    await expect(podDns()).rejects.toMatchObject({ message: expect.stringContaining('at most 10485760 are allowed') });
  });

  it('podDns reads no file if none is configured', async () => {
    const network = makeNetwork({ resolvConfPath: '' });
    expect(await network.podDns(makePod({ dnsPolicy: 'Default' }))).toMatchObject({ servers: ['127.0.0.1'] });
  });
});

describe('hostsMount', () => {
  const container = { name: 'app' };
  const path = '/root/pods/uid-1/etc-hosts';

  it("writes the pod's names and aliases into its hosts file and mounts it read-write", async () => {
    const hostAliases = [{ ip: '1.2.3.4', hostnames: ['foo', 'bar'] }, { ip: '5.6.7.8' }];
    const pod = makePod({ subdomain: 'sub', hostAliases });
    const mount = await makeNetwork({ clusterDomain: 'c.l' }).hostsMount(pod, container, ['10.0.0.5', 'fd00::5']);
    expect(mount).toEqual({
      containerPath: '/etc/hosts',
      hostPath: path,
      readOnly: false,
      recursiveReadOnly: false,
      selinuxRelabel: true,
      propagation: 'None',
    });
    expect(await read(path)).toBe(
      [
        '# Kubernetes-managed hosts file.',
        '127.0.0.1\tlocalhost',
        '::1\tlocalhost ip6-localhost ip6-loopback',
        'fe00::0\tip6-localnet',
        'fe00::0\tip6-mcastprefix',
        'fe00::1\tip6-allnodes',
        'fe00::2\tip6-allrouters',
        '10.0.0.5\tweb.sub.shop.svc.c.l\tweb',
        'fd00::5\tweb.sub.shop.svc.c.l\tweb',
        '',
        '# Entries added by HostAliases.',
        '1.2.3.4\tfoo\tbar',
        '5.6.7.8\t',
        '',
      ].join('\n'),
    );
    expect(await fs.stat(path)).toMatchObject({ mode: 0o644 });
  });

  it("copies the node's hosts file for a pod on the host network", async () => {
    await makeNetwork().hostsMount(makePod({ hostNetwork: true }), container, []);
    expect(await read(path)).toBe('# Kubernetes-managed hosts file (host network).\n127.0.0.1\tlocalhost node-1\n');
  });

  it("copies the node's hosts file byte for byte, and writes it once", async () => {
    const latin1 = Buffer.from('\u00ef\u00bb\u00bf10.0.0.1\tr\u00e4chner # \u00ff\r\n', 'latin1');
    await fs.writeFile('/etc/hosts', latin1);
    const pod = makePod({ hostNetwork: true, hostAliases: [{ ip: '1.2.3.4', hostnames: ['foo'] }] });
    const network = makeNetwork();
    await network.hostsMount(pod, container, []);
    const wanted = Buffer.concat([
      Buffer.from('# Kubernetes-managed hosts file (host network).\n'),
      latin1,
      Buffer.from('\n# Entries added by HostAliases.\n1.2.3.4\tfoo\n'),
    ]);
    expect(Buffer.from(await fs.readFile(path))).toEqual(wanted);
    fs.injectFault({ operation: 'write', path, code: 'ENOSPC' });
    await network.hostsMount(pod, container, []);
  });

  it('returns no hosts mount if the container mounts its own, or the pod has no IP yet', async () => {
    const own = { name: 'app', volumeMounts: [{ name: 'v', mountPath: '/etc/hosts' }] };
    expect(await makeNetwork().hostsMount(makePod(), own, ['10.0.0.5'])).toBeUndefined();
    expect(await makeNetwork().hostsMount(makePod(), container, [])).toBeUndefined();
    expect(await fs.exists(path)).toBe(false);
  });

  it('keeps the inode of a mounted hosts file, reverts changes, and writes only if the content differs', async () => {
    const network = makeNetwork();
    await network.hostsMount(makePod(), container, ['10.0.0.5']);
    const { inode } = await fs.stat(path);
    const content = await read(path);
    const full = fs.injectFault({ operation: 'write', path, code: 'ENOSPC' });
    await network.hostsMount(makePod(), container, ['10.0.0.5']);
    full.remove();
    await fs.writeFile(path, 'tampered', { mode: 0o666 });
    await network.hostsMount(makePod(), container, ['10.0.0.5']);
    expect(await read(path)).toBe(content);
    expect(await fs.stat(path)).toMatchObject({ inode, mode: 0o644 });
  });

  it('hostsMount fails with the cause if the disk is full', async () => {
    fs.injectFault({ operation: 'write', path, code: 'ENOSPC' });
    await expect(makeNetwork().hostsMount(makePod(), container, ['10.0.0.5'])).rejects.toMatchObject({
      name: 'NetworkError',
      code: 'Io',
      cause: expect.objectContaining({ code: 'ENOSPC' }),
    });
  });
});

describe('hostname', () => {
  it('hostname returns only the short hostname and the domain', () => {
    expect(makeNetwork({ clusterDomain: 'c.l' }).hostname(makePod({ subdomain: 's' }))).toEqual({
      hostname: 'web',
      domain: 's.shop.svc.c.l',
    });
  });
});

describe('checkResolvConf', () => {
  it('checkResolvConf records the same problem once, and again after it was solved', async () => {
    const network = makeNetwork();
    const broken = `search ${Array.from({ length: 40 }, (_, i) => `d${i}`).join(' ')}`;
    const check = async (content: string): Promise<void> => {
      await fs.writeFile('/etc/resolv.conf', content);
      await network.checkResolvConf();
    };
    for (const content of [broken, broken, 'search a', broken, 'nameserver']) await check(content);
    expect(events.map((event) => event.slice(0, 72))).toEqual([
      "Node/node-1 Warning CheckLimitsForResolvConf Resolv.conf file '/etc/reso",
      "Node/node-1 Warning CheckLimitsForResolvConf Resolv.conf file '/etc/reso",
      'Node/node-1 Warning CheckLimitsForResolvConf resolver file /etc/resolv.c',
    ]);
  });
});
