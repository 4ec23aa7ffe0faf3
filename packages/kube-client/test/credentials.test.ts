import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { systemRandom } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { silentLogger } from '@node-agent/telemetry';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ConnectionConfig, connectionOf, type ExecRunner, nodeExec, Reflector, resources } from '../src/index.ts';
import { ApiServer, until } from './api-server.ts';
import { type Fixtures, failureOf, fixtures, PROTOCOLS } from './fixtures.ts';

let f: Fixtures;
beforeAll(async () => {
  f = await fixtures();
});
afterEach(() => f.endTest());
afterAll(() => f[Symbol.asyncDispose]());

test.each<[string, ConnectionConfig['user']]>([
  ['a token', { token: { data: 'hunter2' } }],
  ['a token file', { token: { file: '/no/such/token' } }],
  ['a password', { basic: { username: 'admin', password: 'hunter2' } }],
  [
    'an exec plugin',
    {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'plugin',
        args: [],
        env: [],
        provideClusterInfo: false,
      },
    },
  ],
  ['an auth provider', { authProvider: { name: 'gcp', config: { 'access-token': 'hunter2' } } }],
])(
  'W4: a server without TLS is not sent the credentials of a user with %s, and a warning is logged once',
  async (_, user) => {
    const server = await ApiServer.start();
    f.ends.push(() => server[Symbol.asyncDispose]());
    let runs = 0;
    const exec: ExecRunner = async () => {
      runs++;
      return { exitCode: 1, stdout: '', stderr: '' };
    };
    const impersonate = { user: 'jane', groups: ['dev'] };
    const { client, lines } = f.clientOf({ cluster: { server: server.url }, user: { ...user, impersonate } }, { exec });
    for (let i = 0; i < 2; i++) await client.get(resources.nodes, { name: 'a' });
    expect(server.seen.map(({ authorization, impersonated }) => [authorization, impersonated])).toEqual([
      [undefined, 'jane'],
      [undefined, 'jane'],
    ]);
    expect(runs).toBe(0);
    expect(lines).toEqual([
      {
        level: 'warn',
        fields: { server: new URL(server.url).host },
        message: 'Credentials are not sent: the server URL is not https',
      },
    ]);
  },
);

test('W4: a kubeconfig server without a URL scheme is not sent credentials, even if a CA is configured', async () => {
  const server = await ApiServer.start();
  f.ends.push(() => server[Symbol.asyncDispose]());
  const ca = Buffer.from(f.pki.ca).toString('base64');
  const connection = connectionOf(
    {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: `127.0.0.1:${server.port}`, 'certificate-authority-data': ca } }],
      users: [{ name: 'u', user: { token: 'hunter2' } }],
    },
    'kubeconfig',
  );
  const { client, lines } = f.clientOf(connection);
  await client.get(resources.nodes, { name: 'a' });
  expect(server.seen.map(({ authorization }) => authorization)).toEqual([undefined]);
  expect(lines.map(({ level }) => level)).toEqual(['warn']);
});

test('no warning is logged for a server without TLS if the user has no credentials', async () => {
  const server = await ApiServer.start();
  f.ends.push(() => server[Symbol.asyncDispose]());
  const { client, lines } = f.clientOf({ cluster: { server: server.url }, user: { impersonate: { user: 'jane' } } });
  await client.get(resources.nodes, { name: 'a' });
  expect([server.seen[0]?.impersonated, lines]).toEqual(['jane', []]);
});

describe.each(PROTOCOLS)('credentials over %s', (_protocol, http2) => {
  test('a watch continues with the new client certificate after a rotation, and loses no event', async () => {
    const server = await f.tlsServer(http2);
    const file = join(f.directory, 'kubelet-client-current.pem');
    await writeFile(file, f.nodeA.cert + f.nodeA.key);
    const { clock, client, lines } = f.clientOf({
      cluster: { server: server.url, ca: { data: f.pki.ca } },
      user: { clientCertificate: { cert: { file }, key: { file } } },
    });
    let closed = 0;
    server.handler = ({ url }, response) => {
      if (!url.includes('watch=true')) {
        response.end('{"kind":"NodeList","metadata":{"resourceVersion":"5"},"items":[]}');
        return;
      }
      const version = /resourceVersion=(\d+)/.exec(url)?.[1];
      response.write(
        `{"type":"ADDED","object":{"metadata":{"name":"after-${version}","resourceVersion":"${Number(version) + 1}"}}}\n`,
      );
      response.on('close', () => closed++);
    };
    const components = { client, clock, random: systemRandom, logger: silentLogger };
    const reflector = new Reflector(components, { resource: resources.nodes, streamingLists: false });
    const controller = new AbortController();
    const done = reflector.start(controller.signal);
    f.ends.push(async () => {
      controller.abort();
      await done;
    });
    await until(() => reflector.objects.has('after-5'));
    await clock.advance(20_000);
    expect(closed).toBe(0);

    await nodeFileSystem.writeFileAtomic(file, f.nodeB.cert + f.nodeB.key);
    await clock.advance(10_000);
    await until(() => reflector.objects.has('after-6'));
    await until(() => closed === 1);
    expect(server.seen.map(({ user }) => user)).toEqual(['system:node:a', 'system:node:a', 'system:node:b']);
    expect(lines.map(({ message }) => message)).toEqual(['Credentials changed; opening new connections']);
  });

  test('a certificate pair that is half replaced or unreadable is not used; the last good pair is kept', async () => {
    const server = await f.tlsServer(http2);
    const [cert, key] = [join(f.directory, 'tls.crt'), join(f.directory, 'tls.key')];
    await writeFile(cert, f.nodeA.cert);
    await writeFile(key, f.nodeA.key);
    const { clock, client, lines } = f.clientOf({
      cluster: { server: server.url, ca: { data: f.pki.ca } },
      user: { clientCertificate: { cert: { file: cert }, key: { file: key } } },
    });
    const user = async (): Promise<string | undefined> => {
      await clock.advance(10_000);
      await client.get(resources.nodes, { name: 'a' });
      return server.seen.at(-1)?.user;
    };
    expect(await user()).toBe('system:node:a');
    await writeFile(cert, f.nodeB.cert);
    expect(await user()).toBe('system:node:a');
    await rm(key);
    expect(await user()).toBe('system:node:a');
    await writeFile(key, f.nodeB.key);
    expect(await user()).toBe('system:node:b');
    expect(lines.filter(({ level }) => level === 'warn').length).toBe(1);
  });

  test('a token file is read again periodically and immediately after a 401; an open watch is not interrupted', async () => {
    const server = await f.tlsServer(http2);
    const file = join(f.directory, 'token');
    await writeFile(file, 'one\n');
    const { clock, client } = f.clientOf({
      cluster: { server: server.url, ca: { data: f.pki.ca } },
      user: { token: { file } },
    });
    let closed = false;
    server.handler = ({ url, authorization }, response) => {
      if (url.includes('watch')) {
        response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n');
        response.on('close', () => {
          closed = true;
        });
        return;
      }
      response.statusCode = authorization === 'Bearer two' ? 200 : 401;
      response.end(response.statusCode === 200 ? '{}' : '');
    };
    const watch = await client.watch(resources.nodes, {});
    const events = watch[Symbol.asyncIterator]();
    expect(await events.next()).toMatchObject({ value: { resourceVersion: '1' } });

    expect((await failureOf(client.get(resources.nodes, { name: 'a' }))).code).toBe('Unauthorized');
    await writeFile(file, 'two\n');
    await client.get(resources.nodes, { name: 'a' });
    await writeFile(file, 'three');
    await client.get(resources.nodes, { name: 'a' });
    await clock.advance(10_000);
    expect((await failureOf(client.get(resources.nodes, { name: 'a' }))).httpStatus).toBe(401);
    expect(server.seen.map(({ authorization }) => authorization)).toEqual(
      ['one', 'one', 'two', 'two', 'three'].map((token) => `Bearer ${token}`),
    );
    expect(closed).toBe(false);
    await events.return?.();
    await until(() => closed);
  });

  test('an exec plugin runs once until its credentials expire or the server rejects them', async () => {
    const server = await f.tlsServer(http2);
    const runs = join(f.directory, `runs-${http2}`);
    const script = [
      `echo run >> ${runs}`,
      `n=$(wc -l < ${runs})`,
      `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$SALT$n'","expirationTimestamp":"2026-01-01T00:10:00Z"}}'`,
    ].join('\n');
    const { clock, client } = f.clientOf({
      cluster: { server: server.url, ca: { data: f.pki.ca } },
      user: {
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: 'sh',
          args: ['-c', script],
          env: [{ name: 'SALT', value: 'salt' }],
          provideClusterInfo: false,
        },
      },
    });
    const get = (): Promise<unknown> => client.get(resources.nodes, { name: 'a' });
    await Promise.all([get(), get(), get()]);
    await clock.advance(599_000);
    await get();
    server.handler = (_, response) => void response.writeHead(401).end();
    await failureOf(get());
    server.handler = (_, response) => void response.end('{}');
    await get();
    await get();
    await clock.advance(1000);
    await get();
    const tokens = server.seen.map(({ authorization }) => authorization);
    const wanted = [1, 1, 1, 1, 1, 2, 2, 3].map((run) => `Bearer salt${run}`);
    expect(tokens).toEqual(wanted);
  });

  test('an exec plugin that never exits is killed after a minute, and the next request runs it again', async () => {
    const server = await f.tlsServer(http2);
    const runs: AbortSignal[] = [];
    const given = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"late"}}';
    const exec: ExecRunner = async (_command, _args, _environment, signal) => {
      if (signal !== undefined) runs.push(signal);
      if (runs.length > 1) return { exitCode: 0, stdout: given, stderr: '' };
      return await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    };
    const plugin = { apiVersion: 'client.authentication.k8s.io/v1', command: 'slow', args: [], env: [] } as const;
    const cluster = { server: server.url, ca: { data: f.pki.ca } };
    const { transport, clock } = f.clientOf(
      { cluster, user: { exec: { ...plugin, provideClusterInfo: false } } },
      { exec },
    );
    // A transport request without an abort signal, so only the timeout can end it.
    const request = { method: 'GET', path: '/', headers: {} } as const;
    const failed = failureOf(transport.request(request));
    await until(() => runs.length === 1);
    await clock.advance(60_000);
    expect(await failed).toMatchObject({ code: 'CredentialsUnavailable' });
    expect(runs[0]?.aborted).toBe(true);
    expect((await transport.request(request)).status).toBe(200);
    expect(server.seen[0]?.authorization).toBe('Bearer late');
  });

  test('an exec plugin that prints endless output is killed', async () => {
    const error = await nodeExec('yes', ['hunter2'], { PATH: process.env.PATH }).catch((cause: unknown) => cause);
    expect(String(error)).toBe('Error: the program printed more than 1048576 characters');
  });

  test.each<[string, ExecRunner, RegExp]>([
    ['does not exist', nodeExec, /exec: executable no-such-plugin not found\n\nhow to get it/],
    ['cannot be started', async () => Promise.reject(new Error('spawn EACCES')), /exec: spawn EACCES$/],
    [
      'exits with an error',
      async () => ({ exitCode: 3, stdout: '', stderr: 'who are you?' }),
      /failed with exit code 3: who are you\?/,
    ],
    [
      'prints a single word',
      async () => ({ exitCode: 0, stdout: 'secret', stderr: '' }),
      /did not print JSON or YAML$/,
    ],
    [
      'prints too much YAML',
      async () => ({ exitCode: 0, stdout: `kind: secret\n#${' '.repeat(65_536)}`, stderr: '' }),
      /the plugin printed neither JSON nor at most 65536 characters of YAML$/,
    ],
    [
      'prints invalid YAML',
      async () => ({ exitCode: 0, stdout: 'a: [secret', stderr: '' }),
      /did not print JSON or YAML$/,
    ],
    [
      'prints another API version',
      async () => ({ exitCode: 0, stdout: '{"apiVersion":"v2","kind":"ExecCredential"}', stderr: '' }),
      /it returned v2, ExecCredential/,
    ],
  ])(
    'a request fails with CredentialsUnavailable and no secret in the error if its exec plugin %s',
    async (_, exec, message) => {
      const plugin = {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'no-such-plugin',
        args: [],
        env: [],
      } as const;
      const { client } = f.clientOf(
        {
          cluster: { server: 'https://127.0.0.1:1' },
          user: { exec: { ...plugin, installHint: 'how to get it', provideClusterInfo: true } },
        },
        { exec },
      );
      const error = await failureOf(client.get(resources.nodes, { name: 'a' }));
      expect(error.code).toBe('CredentialsUnavailable');
      expect(error.message).toMatch(message);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('secret');
    },
  );

  test('an exec plugin may print YAML', async () => {
    const server = await f.tlsServer(http2);
    const status = 'status:\n  token: from-yaml\n  expirationTimestamp: 2026-01-01T00:10:00Z\n';
    let runs = 0;
    const exec: ExecRunner = async () => {
      runs++;
      return { exitCode: 0, stdout: `apiVersion: ${V1BETA1}\nkind: ExecCredential\n${status}`, stderr: '' };
    };
    const plugin = { apiVersion: V1BETA1, command: 'plugin', args: [], env: [], provideClusterInfo: false } as const;
    const cluster = { server: server.url, ca: { data: f.pki.ca } };
    const { client, clock } = f.clientOf({ cluster, user: { exec: plugin } }, { exec });
    await client.get(resources.nodes, { name: 'a' });
    await client.get(resources.nodes, { name: 'a' });
    expect([server.seen[0]?.authorization, runs]).toEqual(['Bearer from-yaml', 1]);
    await clock.advance(600_000);
    await client.get(resources.nodes, { name: 'a' });
    expect(runs).toBe(2);
  });

  test('an exec plugin gets the cluster info if provideClusterInfo is set, and the client presents its certificate', async () => {
    const server = await f.tlsServer(http2);
    const environments: (string | undefined)[] = [];
    const exec: ExecRunner = async (_command, _args, environment) => {
      environments.push(environment.KUBERNETES_EXEC_INFO);
      const status = { clientCertificateData: f.nodeA.cert, clientKeyData: f.nodeA.key };
      return {
        exitCode: 0,
        stdout: JSON.stringify({ apiVersion: V1BETA1, kind: 'ExecCredential', status }),
        stderr: '',
      };
    };
    const cluster = { server: server.url, ca: { data: f.pki.ca }, execConfig: { audience: 'x' } };
    const plugin = { apiVersion: V1BETA1, command: 'plugin', args: [], env: [], provideClusterInfo: true } as const;
    const { client } = f.clientOf({ cluster, user: { exec: plugin } }, { exec });
    await client.get(resources.nodes, { name: 'a' });
    expect(server.seen[0]?.user).toBe('system:node:a');
    expect(environments.map((text) => JSON.parse(text ?? ''))).toEqual([
      {
        kind: 'ExecCredential',
        apiVersion: V1BETA1,
        spec: {
          interactive: false,
          cluster: {
            server: server.url,
            'certificate-authority-data': Buffer.from(`${f.pki.ca.trim()}\n`).toString('base64'),
            config: { audience: 'x' },
          },
        },
      },
    ]);
  });
  const V1BETA1 = 'client.authentication.k8s.io/v1beta1';

  test("an auth provider's token comes from @kubernetes/client-node; an unknown provider is an error", async () => {
    const server = await f.tlsServer(http2);
    const cluster = { server: server.url, ca: { data: f.pki.ca } };
    const config = { 'access-token': 'from-the-provider', expiry: '2999-01-01T00:00:00Z' };
    const { client } = f.clientOf({ cluster, user: { authProvider: { name: 'gcp', config } } });
    await client.get(resources.nodes, { name: 'a' });
    expect(server.seen[0]?.authorization).toBe('Bearer from-the-provider');
    const unknown = f.clientOf({ cluster, user: { authProvider: { name: 'openstack', config: {} } } });
    const error = await failureOf(unknown.client.get(resources.nodes, { name: 'a' }));
    expect(error.message).toBe('auth provider openstack: the provider is unknown or returned no token');
  });
});
