import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { RestClient, resources } from '@node-agent/kube-client';
import { MetricsRegistry } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { CertificateManager, type CertificateManagerOptions } from '../src/certificate-manager.ts';
import type { CertificatePair } from '../src/certificate-pair.ts';
import { CertificateStore } from '../src/certificate-store.ts';
import { ClientCertificateCredentials } from '../src/client-credentials.ts';
import { PendingKey } from '../src/pending-key.ts';
import type { RequestIdentity } from '../src/rotation-step.ts';
import { type CertificateSubject, nodeSubject } from '../src/subject.ts';
import { TestAuthority } from './authority.ts';
import { DAY_MS, makePair } from './fixtures.ts';

const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

const CSRS = resources.certificateSigningRequests;

function world() {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const authority = new TestAuthority();
  const signing = { lifeMs: DAY_MS, omitNames: false };
  const api = new FakeApiServer(
    { clock, random: seededRandom(1) },
    { signer: ({ request }) => authority.sign(request, clock.now(), clock.now() + signing.lifeMs, !signing.omitNames) },
  );
  const requests: string[] = [];
  api.onRequest(({ verb, resource }) => requests.push(`${verb} ${resource}`));
  const rest = new RestClient({ transport: api, clock });
  const decide = async (type: string): Promise<void> => {
    await clock.settle();
    for (const { metadata } of (await rest.list(CSRS)).items) {
      const csr = await rest.get(CSRS, { name: metadata.name ?? '' });
      if ((csr.status?.conditions ?? []).length > 0) continue;
      const conditions = [{ type, status: 'True', reason: 'Test', message: 'as the test wants it' }];
      await rest.update(CSRS, { ...csr, status: { ...csr.status, conditions } }, { subresource: 'approval' });
    }
    await clock.settle();
  };
  const names = (): readonly string[] => api.objects('certificatesigningrequests').map(nameOf);

  const start = (options: Partial<CertificateManagerOptions> = {}) => {
    const { logger, lines } = captureLogger();
    const metrics = new MetricsRegistry();
    const identities: RequestIdentity[] = [];
    const purpose = options.purpose ?? 'client';
    const place = { directory: '/pki', prefix: purpose === 'client' ? 'kubelet-client' : 'kubelet-server' };
    const manager = new CertificateManager(
      {
        store: new CertificateStore({ fs, clock, logger }, place),
        pendingKey: new PendingKey({ fs, logger }, place),
        client: (identity) => {
          identities.push(identity);
          return rest;
        },
        ...{ clock, random: { next: () => 0.5 }, logger, metrics },
      },
      { purpose, subject: () => nodeSubject('n1'), ...options },
    );
    const controller = new AbortController();
    const ended = manager.start(controller.signal);
    const stop = async (): Promise<void> => {
      controller.abort(new Error('the test has ended'));
      await ended;
    };
    running.push(stop);
    return { manager, lines, metrics, identities, stop };
  };
  return { clock, fs, api, rest, signing, decide, names, requests, start };
}

function nameOf(object: object): string {
  return 'metadata' in object ? ((object.metadata as { name?: string }).name ?? '') : '';
}

describe('the first certificate of a node', () => {
  test('requests the first client certificate with the bootstrap credentials, and uses it once it is signed', async () => {
    const { clock, decide, api, rest, names, start } = world();
    const { manager, identities } = start();
    const ready = manager.ready();
    await clock.settle();
    expect(manager.current).toBeUndefined();
    expect(identities).toEqual(['bootstrap']);
    const csr = await rest.get(CSRS, { name: names()[0] ?? '' });
    expect(csr.spec).toMatchObject({
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    });
    await decide('Approved');
    expect(manager.current?.leaf).toMatchObject({ commonName: 'system:node:n1', organizations: ['system:nodes'] });
    expect(await ready).toBe(manager.current);
    expect(api.watchCount).toBe(0);
  });

  test('a watch delivers the signed certificate without polling', async () => {
    const { clock, requests, start } = world();
    start();
    await clock.settle();
    const asked = requests.length;
    await clock.advance(240_000);
    expect(requests.length - asked).toBeLessThan(3);
  });

  test('K1: a kubelet that was killed resumes its certificate signing request', async () => {
    const { clock, fs, decide, names, start } = world();
    const first = start();
    await clock.settle();
    const [name] = names();
    fs.powerLoss();
    await first.stop();
    const second = start();
    await clock.settle();
    expect(names()).toEqual([name]);
    await decide('Approved');
    expect(second.manager.current).toBeDefined();
    expect(await fs.exists('/pki/kubelet-client.key.tmp')).toBe(false);
  });

  test('K1: a certificate signed while the kubelet was down is used immediately', async () => {
    const { decide, names, clock, start } = world();
    const first = start();
    await clock.settle();
    await first.stop();
    await decide('Approved');
    const second = start();
    await clock.settle();
    expect(second.manager.current).toBeDefined();
    expect(names()).toHaveLength(1);
  });

  test('a signed certificate that could not be stored is stored later without another request', async () => {
    const { clock, fs, decide, names, start } = world();
    const { manager } = start();
    await clock.settle();
    fs.injectFault({ code: 'ENOSPC', operation: 'symlink' });
    await decide('Approved');
    expect(manager.current).toBeUndefined();
    await clock.advance(2200);
    expect(manager.current).toBeDefined();
    expect(names()).toHaveLength(1);
  });

  test.each([
    ['Denied', 'certificate signing request is denied, reason: Test, message: as the test wants it'],
    ['Failed', 'certificate signing request failed, reason: Test, message: as the test wants it'],
  ])(
    'a certificate signing request that is %s is replaced by one with a new key after a back-off',
    async (type, message) => {
      const { clock, decide, names, start } = world();
      const { lines, manager, metrics } = start();
      await decide(type);
      expect(lines.find(({ level }) => level === 'error')?.fields.err).toMatchObject({ message });
      expect(metrics.text()).toContain('kubelet_certificate_manager_client_expiration_renew_errors 1');
      expect(names()).toHaveLength(1);
      await clock.advance(2200);
      expect(names()).toHaveLength(2);
      await decide('Approved');
      expect(manager.current).toBeDefined();
    },
  );

  test('creates a new certificate signing request if its own is deleted', async () => {
    const { clock, rest, decide, names, start } = world();
    const { manager } = start();
    await clock.settle();
    await rest.delete(CSRS, { name: names()[0] ?? '' });
    await clock.advance(2200);
    expect(names()).toHaveLength(1);
    await decide('Approved');
    expect(manager.current).toBeDefined();
  });

  test('resumes an existing certificate signing request of the same name only if its content matches', async () => {
    const { clock, api, rest, names, decide, start } = world();
    const { manager, lines } = start();
    await clock.settle();
    const [name = ''] = names();
    const made = await rest.get(CSRS, { name });
    api.put({ ...made, metadata: { name, uid: 'another' }, spec: { ...made.spec, signerName: 'example.com/other' } });
    await clock.advance(2200);
    const errors = lines.flatMap(({ level, fields }) =>
      level === 'error' ? [(fields.err as { code: string }).code] : [],
    );
    expect(errors).toEqual(['RequestGone', 'RequestIncompatible']);
    await clock.advance(4400);
    expect(names()).toHaveLength(2);
    await decide('Approved');
    expect(manager.current).toBeDefined();
  });

  test('keeps a certificate signing request that is not signed within 15 minutes', async () => {
    const { clock, decide, names, start } = world();
    const { manager, lines } = start();
    await clock.advance(905_000);
    expect(lines.map(({ fields }) => (fields.err as { code?: string } | undefined)?.code)).toContain('NotIssued');
    expect(names()).toHaveLength(1);
    await decide('Approved');
    expect(manager.current).toBeDefined();
  });

  test('finds a signed certificate within seconds even if watch and list of certificate signing requests fail', async () => {
    const { clock, api, start } = world();
    api.faults.add({ verb: 'watch', times: Number.POSITIVE_INFINITY, fault: { kind: 'status', code: 403 } });
    api.faults.add({ verb: 'list', times: Number.POSITIVE_INFINITY, fault: { kind: 'status', code: 403 } });
    const { manager } = start();
    await clock.settle();
    const [csr] = api.objects('certificatesigningrequests');
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }];
    if (csr !== undefined) api.put({ ...csr, status: { conditions } });
    await clock.advance(10_100);
    expect(manager.current).toBeDefined();
  });
});

/** Starts a certificate manager and waits until it has a certificate. */
async function joined(options: Partial<CertificateManagerOptions> = {}) {
  const given = world();
  const started = given.start(options);
  await given.decide('Approved');
  const first = started.manager.current;
  if (first === undefined) throw new Error('there is no certificate');
  return { ...given, ...started, first };
}

test('a temporary disk error does not cause another certificate signing request', async () => {
  const { clock, fs, names, start, stop, first } = await joined();
  await stop();
  fs.injectFault({ code: 'EIO', operation: 'read', path: '/pki' });
  const { manager } = start();
  await clock.settle();
  expect(manager.current).toBeUndefined();
  await clock.advance(2200);
  expect(manager.current).toEqual(first);
  expect(names()).toHaveLength(1);
});

describe('rotation of a certificate', () => {
  test('requests the next certificate with the current one after a random 70 to 90% of the lifetime', async () => {
    const { clock, decide, names, manager, identities, first } = await joined();
    const changes: CertificatePair[] = [];
    manager.onChange((pair) => changes.push(pair));
    await clock.advance(0.8 * DAY_MS - 1000);
    expect(names()).toHaveLength(1);
    await clock.advance(2000);
    expect(names()).toHaveLength(2);
    expect(identities).toEqual(['bootstrap', 'current']);
    expect(manager.current).toBe(first);
    await decide('Approved');
    expect(changes).toEqual([manager.current]);
    expect(manager.current?.key).not.toBe(first.key);
  });

  test('rotates the certificate on time if the wall clock jumps or the machine slept', async () => {
    const { clock, names } = await joined();
    clock.jumpWallClock(0.9 * DAY_MS);
    await clock.advance(600_000);
    expect(names()).toHaveLength(2);
  });

  test('K3: keeps the old certificate while the API server is down, and completes the rotation afterwards', async () => {
    const { clock, api, decide, lines, manager, metrics, first } = await joined();
    api.refuseConnections();
    await clock.advance(0.85 * DAY_MS);
    expect(manager.current).toBe(first);
    expect(lines.map(({ message }) => message)).toContain(
      'Failed to obtain a new certificate; the current one stays in use',
    );
    api.acceptConnections();
    await clock.advance(36_000);
    await decide('Approved');
    expect(manager.current).not.toBe(first);
    manager.reportTtl();
    expect(metrics.text()).toMatch(/kubelet_certificate_manager_client_ttl_seconds 86\d\d\d/);
  });

  test('after expiry, requests a certificate alternately with the bootstrap credentials and with the expired certificate', async () => {
    const { clock, api, decide, lines, identities, manager, metrics, first } = await joined();
    api.refuseConnections();
    await clock.advance(DAY_MS + 120_000);
    expect(manager.current).toBe(first);
    expect(identities.slice(-2).sort()).toEqual(['bootstrap', 'current']);
    expect(lines.at(-1)).toMatchObject({
      level: 'error',
      message: 'Failed to obtain a new certificate; the current one has expired',
    });
    manager.reportTtl();
    expect(metrics.text()).toMatch(/kubelet_certificate_manager_client_ttl_seconds -1[12]\d\n/);
    api.acceptConnections();
    await clock.advance(36_000);
    await decide('Approved');
    expect(manager.current).not.toBe(first);
  });

  test('after its certificate has expired, uses a certificate that an administrator puts into the store', async () => {
    const { clock, fs, api, manager } = await joined();
    api.refuseConnections();
    await clock.advance(DAY_MS + 120_000);
    const pair = makePair({ fromMs: clock.now() });
    await fs.remove('/pki/kubelet-client-current.pem');
    await fs.writeFile('/pki/kubelet-client-current.pem', pair.cert + pair.key);
    await clock.advance(36_000);
    expect(manager.current).toEqual(pair);
  });

  test('backs off if the signer issues certificates that have already expired', async () => {
    const { clock, signing, decide, requests, manager, first } = await joined();
    signing.lifeMs = -1000;
    await clock.advance(0.8 * DAY_MS + 1000);
    await decide('Approved');
    expect(manager.current).not.toBe(first);
    const asked = requests.filter((request) => request.startsWith('create')).length;
    for (let round = 0; round < 60; round++) {
      await decide('Approved');
      await clock.advance(1000);
    }
    expect(requests.filter((request) => request.startsWith('create')).length - asked).toBeLessThan(8);
  });

  test('requests no further certificate if rotation is disabled', async () => {
    const { clock, names, manager, first } = await joined({ rotate: false });
    await clock.advance(2 * DAY_MS);
    expect(names()).toHaveLength(1);
    expect(manager.current).toBe(first);
  });

  test('replaces a certificate that the API server rejects, but not within minutes after it was issued', async () => {
    const { clock, decide, names, manager, identities, first } = await joined();
    manager.reject(first);
    await clock.advance(1000);
    expect(names()).toHaveLength(1);
    await clock.advance(300_000);
    manager.reject(first);
    await decide('Approved');
    expect(names()).toHaveLength(2);
    expect(identities.at(-1)).toBe('bootstrap');
    expect(manager.current).not.toBe(first);
    manager.reject(first);
    await clock.advance(1000);
    expect(names()).toHaveLength(2);
  });
});

describe('the client certificate of a kubeconfig', () => {
  const kubeadm = { ...nodeSubject('admin'), organizations: ['system:masters'] };

  test("uses and stores the client certificate of a kubeconfig, and replaces it immediately by the node's own", async () => {
    const given = world();
    const initialPair = makePair({ subject: kubeadm });
    const { manager, identities } = given.start({ initialPair });
    await given.clock.settle();
    expect(manager.current).toBe(initialPair);
    expect(identities).toEqual(['current']);
    expect(await given.fs.exists('/pki/kubelet-client-current.pem')).toBe(true);
    await given.decide('Approved');
    expect(manager.current?.leaf.commonName).toBe('system:node:n1');
  });

  test("a kubeconfig's client certificate does not replace a valid certificate in the store", async () => {
    const { stop, start, clock, first } = await joined();
    await stop();
    const { manager } = start({ initialPair: makePair({ subject: kubeadm }) });
    await clock.settle();
    expect(manager.current).toEqual(first);
  });
});

describe('a serving certificate', () => {
  const at = (...ipAddresses: string[]): CertificateSubject => ({
    ...nodeSubject('n1'),
    dnsNames: ['n1'],
    ipAddresses,
  });

  test('requests a serving certificate when the node addresses are known, and another when they change', async () => {
    const given = world();
    const { clock, rest, decide, names } = given;
    let subject: CertificateSubject | undefined;
    const { manager, metrics } = given.start({ purpose: 'server', subject: () => subject });
    await clock.advance(60_000);
    expect(names()).toEqual([]);
    subject = at('10.0.0.1');
    manager.wake();
    await decide('Approved');
    expect(manager.current?.leaf).toMatchObject({ dnsNames: ['n1'], ipAddresses: ['10.0.0.1'] });
    const { spec } = await rest.get(CSRS, { name: names()[0] ?? '' });
    expect(spec).toMatchObject({
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    });
    subject = at('10.0.0.2');
    manager.wake();
    await decide('Approved');
    expect(manager.current?.leaf.ipAddresses).toEqual(['10.0.0.2']);
    manager.wake();
    await clock.settle();
    expect(names()).toHaveLength(2);
    expect(metrics.text()).toContain('kubelet_certificate_manager_server_rotation_seconds_count 1');
  });

  test('does not repeat the request for a serving certificate if the signer omits a requested IP address', async () => {
    const given = world();
    given.signing.omitNames = true;
    const { manager, lines } = given.start({ purpose: 'server', subject: () => at('10.0.0.1') });
    for (let round = 0; round < 10; round++) {
      await given.decide('Approved');
      await given.clock.advance(60_000);
    }
    expect(manager.current).toBeDefined();
    expect(given.names()).toHaveLength(1);
    expect(lines.find(({ level }) => level === 'warn')?.fields).toMatchObject({
      lacks: expect.stringContaining('10.0.0.1'),
    });
  });

  test('replaces a pending request for a serving certificate when the node addresses change', async () => {
    const given = world();
    let subject = at('10.0.0.1');
    const { manager, metrics } = given.start({ purpose: 'server', subject: () => subject });
    await given.clock.settle();
    subject = at('10.0.0.2');
    manager.wake();
    await given.decide('Approved');
    expect(manager.current?.leaf.ipAddresses).toEqual(['10.0.0.2']);
    expect(metrics.text()).toContain('kubelet_server_expiration_renew_errors 0');
  });
});

describe('the credentials of a node', () => {
  const cluster = {
    current: async () => ({ tls: { ca: 'CA', cert: undefined, key: undefined }, headers: {} }),
    reject() {},
  };

  test('K3: client credentials wait for the first certificate, change only at rotation, and stop waiting on abort', async () => {
    const given = world();
    const { manager } = given.start();
    const credentials = new ClientCertificateCredentials({ cluster, certificate: manager });
    const abort = new AbortController();
    const given1 = credentials.current(abort.signal);
    const given2 = credentials.current();
    const gone = new Error('the request was given up');
    abort.abort(gone);
    await expect(given1).rejects.toBe(gone);
    await given.decide('Approved');
    const first = await given2;
    expect(first.tls).toEqual({ ca: 'CA', cert: manager.current?.cert, key: manager.current?.key });
    expect(await credentials.current()).toBe(first);
    await given.clock.advance(0.85 * DAY_MS);
    await given.decide('Approved');
    const second = await credentials.current();
    expect(second.tls).not.toBe(first.tls);
    expect(second.tls.cert).toBe(manager.current?.cert);
    // A late 401 response to a request that used the old certificate does not cause another rotation.
    await given.clock.advance(400_000);
    credentials.reject(first);
    await given.clock.settle();
    expect(given.names()).toHaveLength(2);
    credentials.reject(second);
    await given.clock.settle();
    expect(given.names()).toHaveLength(3);
  });
});

test('W4: the log contains no private key through issue, rotation and outages', async () => {
  const { clock, api, decide, lines, manager, first } = await joined();
  await clock.advance(0.85 * DAY_MS);
  api.refuseConnections();
  await clock.advance(60_000);
  api.acceptConnections();
  await clock.advance(60_000);
  await decide('Approved');
  expect(manager.current).not.toBe(first);
  const text = JSON.stringify(lines);
  expect(lines.length).toBeGreaterThan(5);
  expect(text).not.toMatch(/PRIVATE KEY/);
  for (const pair of [first, manager.current]) expect(text).not.toContain(pair?.key.split('\n')[1]);
});

test('the TTL metric is +Inf while there is no certificate', () => {
  const { manager, metrics } = world().start();
  manager.reportTtl();
  expect(metrics.text()).toContain('kubelet_certificate_manager_client_ttl_seconds +Inf');
});
