import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { seededRandom, systemClock, systemRandom } from '@node-agent/async';
import { SelfSignedFiles } from '@node-agent/certificates';
import { FakeApiServer, FakeApiServerHttp } from '@node-agent/fake-apiserver';
import { nodeFileSystem } from '@node-agent/host';
import { loadKubeconfig } from '@node-agent/kube-client';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ClusterAccess, clusterAccess } from '../src/cluster/credentials.ts';

let directory = '';
let access: ClusterAccess | undefined;
let running: { stop(): Promise<void> } | undefined;
const closing: (() => Promise<void>)[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kubelet-credentials-'));
});
afterEach(async () => {
  await running?.stop();
  await access?.[Symbol.asyncDispose]();
  [access, running] = [undefined, undefined];
  for (const close of closing.splice(0)) await close();
  await rm(directory, { recursive: true });
});

const at = (name: string): string => join(directory, name);

async function kubeconfig(name: string, server: string, user: object, more: object = {}): Promise<string> {
  const config = {
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, ...more } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user }],
  };
  await writeFile(at(name), JSON.stringify(config));
  return at(name);
}

/** Returns a valid certificate and key, self-signed: the issuer of a certificate in a kubeconfig is not checked. */
async function pair(): Promise<{ cert: string; key: string }> {
  const made = new SelfSignedFiles(
    { fs: nodeFileSystem, clock: systemClock, logger: silentLogger },
    { directory: at('given'), host: 'n1' },
  );
  await made.ensure();
  return { cert: made.files.certFile, key: made.files.keyFile };
}

const components = {
  ...{ clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics },
  requests: () => {
    throw new Error('there is no client yet');
  },
};
const SERVER = 'http://127.0.0.1:9';

async function begin(rotateCertificates: boolean, bootstrapKubeconfig: string): Promise<ClusterAccess> {
  const flags = { kubeconfig: at('kubelet.conf'), bootstrapKubeconfig, certDir: at('pki') };
  access = await clusterAccess(flags, { rotateCertificates }, 'n1', components);
  return access;
}

function run({ services }: ClusterAccess): void {
  const controller = new AbortController();
  const ended = Promise.allSettled(services.map((service) => service.start(controller.signal)));
  running = {
    stop: async () => {
      controller.abort(new Error('the test has ended'));
      await ended;
    },
  };
}

const files = async (): Promise<readonly string[]> => (await readdir(directory)).sort();

describe('credentials for the API server', () => {
  test('uses a kubeconfig unchanged if there is no bootstrap kubeconfig', async () => {
    await kubeconfig('kubelet.conf', SERVER, { token: 't' });
    const { connection, credentials, services } = await begin(false, '');
    expect(connection.user).toEqual({ token: { data: 't' } });
    expect([credentials, services]).toEqual([undefined, []]);
  });

  test('prefers a kubeconfig with a valid certificate to the bootstrap kubeconfig', async () => {
    const { cert, key } = await pair();
    await kubeconfig('kubelet.conf', SERVER, { 'client-certificate': cert, 'client-key': key });
    const { connection, credentials } = await begin(false, at('nowhere.conf'));
    expect(connection.user.clientCertificate).toEqual({ cert: { file: cert }, key: { file: key } });
    expect(credentials).toBeUndefined();
  });

  test('with rotation, uses the certificate of the kubeconfig until a new one is issued', async () => {
    const { cert, key } = await pair();
    const user = {
      'client-certificate-data': (await readFile(cert)).toString('base64'),
      'client-key-data': (await readFile(key)).toString('base64'),
    };
    await kubeconfig('kubelet.conf', SERVER, user);
    const joined = await begin(true, '');
    run(joined);
    expect((await joined.credentials?.current())?.tls.cert).toBe(await readFile(cert, 'utf8'));
    expect(joined.connection.user).toEqual({});
  });

  test('the error for an unusable certificate in a kubeconfig names the file', async () => {
    const data = Buffer.from('no certificate').toString('base64');
    await kubeconfig('kubelet.conf', SERVER, { 'client-certificate-data': data, 'client-key-data': data });
    await expect(begin(true, '')).rejects.toThrow(
      /kubelet\.conf: load client certificate and key: there is no certificate/,
    );
  });

  test('writes an absolute path of the CA file if the path of the bootstrap kubeconfig is relative', async () => {
    const { cert } = await pair();
    await kubeconfig('bootstrap.conf', SERVER, { token: 't' }, { 'certificate-authority': relative(directory, cert) });
    await begin(true, relative(process.cwd(), at('bootstrap.conf')));
    const { cluster } = await loadKubeconfig({ fs: nodeFileSystem }, at('kubelet.conf'));
    expect(cluster.ca).toEqual({ file: cert });
  });

  test('fails with the file name if neither the kubeconfig nor the bootstrap kubeconfig exists', async () => {
    await expect(begin(true, at('nowhere.conf'))).rejects.toMatchObject({ code: 'InvalidConfig' });
    await expect(begin(false, '')).rejects.toThrow(/kubelet\.conf: cannot be read/);
  });
});

describe('the first join of a node', () => {
  const TOKEN = 'abcdef.0123456789abcdef';
  const ASKED = 'system:bootstrap:abcdef create certificatesigningrequests 201';

  async function server() {
    const api = new FakeApiServer(
      { clock: systemClock, random: seededRandom(1) },
      {
        tokens: { [TOKEN]: { name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers'] } },
        anonymous: null,
        signer: ({ request }) => signed(request),
      },
    );
    const requests: string[] = [];
    api.onRequest(({ verb, resource, user, status }) => requests.push(`${user} ${verb} ${resource} ${status}`));
    // A bootstrap token is sent only over TLS.
    const { cert, key } = await pair();
    const tls = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
    const http = new FakeApiServerHttp({ api }, { tls });
    await http.start();
    closing.push(() => http.close());
    const approve = (): void => {
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }];
      for (const csr of api.objects('certificatesigningrequests')) api.put({ ...csr, status: { conditions } });
    };
    const cluster = { 'insecure-skip-tls-verify': true };
    return { bootstrap: await kubeconfig('bootstrap.conf', http.url, { token: TOKEN }, cluster), requests, approve };
  }

  test('a kubelet that joins with rotation writes the kubeconfig immediately and requests a certificate with the bootstrap token', async () => {
    const { bootstrap, requests, approve } = await server();
    const joined = await begin(true, bootstrap);
    expect(await files()).toContain('kubelet.conf');
    run(joined);
    await expect.poll(() => requests).toContain(ASKED);
    expect(await readdir(at('pki'))).toEqual(['kubelet-client.key.tmp']);
    approve();
    const { tls } = (await joined.credentials?.current()) ?? {};
    expect(await readFile(at('pki/kubelet-client-current.pem'), 'utf8')).toBe(`${tls?.cert}${tls?.key}`);
  });

  test('a kubelet that joins without rotation writes the kubeconfig only after the certificate was issued', async () => {
    const { bootstrap, requests, approve } = await server();
    run(await begin(false, bootstrap));
    await expect.poll(() => requests).toContain(ASKED);
    expect(await files()).toEqual(['bootstrap.conf', 'given', 'pki']);
    approve();
    await expect.poll(files).toContain('kubelet.conf');
    await running?.stop();
    const again = await begin(false, bootstrap);
    expect(again.credentials).toBeUndefined();
    expect(again.connection.user.clientCertificate?.cert).toEqual({ file: at('pki/kubelet-client-current.pem') });
  });
});

/** Signs a certificate request with a new authority. */
function signed(request: string): string {
  const ca = ['-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '1'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', at('ca.key')];
  const quiet = { stdio: 'pipe', encoding: 'utf8' } as const;
  execFileSync('openssl', ['req', '-x509', ...key, '-subj', '/CN=ca', '-out', at('ca.crt')], quiet);
  return execFileSync('openssl', ['x509', '-req', ...ca], { ...quiet, input: request });
}
