import { createHash } from 'node:crypto';
import { FakeClock } from '@node-agent/async/testing';
import type { EventRecorder } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, test } from 'vitest';
import { parseDockerConfigJson, parseDockercfg } from '../src/docker-config.ts';
import { Keyring } from '../src/keyring.ts';
import { credentialHash } from '../src/login-source.ts';
import { ObjectCache } from '../src/object-cache.ts';
import type { Secret } from '../src/object-store.ts';
import { type NodeCredentials, PullSecrets } from '../src/pull-secrets.ts';
import { pod, runToTheEnd, within, world } from './fixtures.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const login = (username: string, password = 'p') => ({ username, password });

describe('a docker configuration', () => {
  test.each([
    ['user and password', { username: 'u', password: 'p' }, login('u')],
    ['auth', { auth: base64('u:p') }, login('u')],
    [
      'auth, which takes precedence over user and password',
      { username: 'x', password: 'y', auth: base64('u:p') },
      login('u'),
    ],
    ['a password with a colon', { auth: base64('u:p:q') }, login('u', 'p:q')],
    ['auth without base64 padding', { auth: base64('u:pp').replace(/=+$/, '') }, login('u', 'pp')],
    ['an empty user', { auth: base64(':p') }, login('')],
    ['nothing', {}, login('', '')],
    ['null', null, login('', '')],
  ])('a pull secret with %s has the login $2', (_what, entry, expected) => {
    expect(parseDockercfg(JSON.stringify({ r: entry })).get('r')).toEqual(expected);
    expect(parseDockerConfigJson(JSON.stringify({ auths: { r: entry }, credsStore: 'x' })).get('r')).toEqual(expected);
  });

  test.each([
    ['{"auths":{"r":{"auth":"c2VjcmV0"}}}', /must be formatted as base64\(username:password\)/],
    ['{"auths":{"r":{"auth":"c2Vj cmV0"}}}', /the entry "r": auth is not base64/],
    ['{"auths":{"r":{"auth":7}}}', /the entry "r": auth is not a string/],
    ['{"auths":{"r":[]}}', /auths\["r"\] is not an object/],
    ['{"auths":"secret"}', /auths is not an object/],
    ['"secret"', /the document is not an object/],
    ['{"auths": secret', /it is not JSON/],
  ])('W3: the pull secret content %s is refused, and W4: not quoted', (text, message) => {
    expect(() => parseDockerConfigJson(text)).toThrow(message);
    expect(() => parseDockerConfigJson(text)).not.toThrow(/secret|c2Vj/);
  });

  test('a pull secret without auths has no logins', () => {
    expect(parseDockerConfigJson('{}').size).toBe(0);
    expect(parseDockerConfigJson('{"auths":null}').size).toBe(0);
  });
});

describe('the hash of a credential', () => {
  test("the hash of a credential equals the hash of upstream's JSON, including the email and without empty fields", () => {
    const hash = '47e4c8f6da76368f987aa811011c528ce3144d46e754325d03d8b68c6d5eb261';
    const config = { username: 'a<b', password: 'p&\u2028"', email: 'e@x' };
    const parsed = parseDockercfg(JSON.stringify({ r: config })).get('r');
    expect(parsed && credentialHash(parsed)).toBe(hash);
    expect(credentialHash(login('u', ''))).toBe(createHash('sha256').update('{"username":"u"}').digest('hex'));
  });
});

describe('the keyring of an image', () => {
  test.each([
    ['docker.io/library/busybox', ['hub']],
    ['docker.io/team/app', ['hub']],
    ['quay.io/app', ['quay']],
    ['quay.io/coreos/etcd', ['coreos', 'coreos again', 'quay']],
    ['eu.example.com/app', ['glob']],
    ['example.com/app', []],
    ['private.org:5000/app', ['port']],
    ['old.org/team/app', ['v1']],
  ])('for the image %s the keyring has the logins %j', (repository, expected) => {
    const keyring = new Keyring();
    keyring.add([
      ['https://index.docker.io/v1/', login('hub')],
      ['quay.io', login('quay')],
      ['quay.io/coreos', login('coreos')],
      ['*.example.com', login('glob')],
      ['http://private.org:5000', login('port')],
      ['https://old.org/v1/team', login('v1')],
    ]);
    keyring.add([['https://quay.io/coreos', login('coreos again')]]);
    expect(keyring.lookup(repository).map(({ username }) => username)).toEqual(expected);
  });

  test.each(['docker.io/team/app', 'quay.io/coreos/etcd', 'example.com/app'])(
    'K4: a keyring for the image %s keeps only logins that match the image',
    (repository) => {
      const registries = ['https://index.docker.io/v1/', 'docker.io', 'quay.io', 'quay.io/coreos', 'private.org:5000'];
      const all = new Keyring();
      const own = new Keyring(repository);
      for (const keyring of [all, own]) keyring.add(registries.map((registry) => [registry, login(registry)]));
      expect(own.lookup(repository)).toEqual(all.lookup(repository));
      expect(own.lookup('private.org:5000/app')).toEqual([]);
    },
  );

  test('Docker Hub logins match under both names of Docker Hub', () => {
    for (const name of ['docker.io', 'index.docker.io', 'https://index.docker.io/v1/']) {
      const keyring = new Keyring();
      keyring.add([[name, login('u')]]);
      expect(keyring.lookup('docker.io/library/busybox')).toEqual([login('u')]);
    }
  });

  test('a keyring reports invalid registries of a pull secret', () => {
    expect(
      new Keyring().add([
        ['exa mple', login('u')],
        ['ok.org', login('u')],
      ]),
    ).toEqual(['exa mple']);
  });
});

/** A login that comes from a pull secret of the pod. */
const ofSecret = (secret: string, username: string) => {
  const hash = createHash('sha256').update(`{"username":"${username}","password":"p"}`).digest('hex');
  const coordinates = { uid: `${secret}-uid`, namespace: 'default', name: secret, credentialHash: hash };
  return { ...login(username), source: { secret: coordinates } };
};

const pullSecret = (name: string, user: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'default', name, uid: `${name}-uid` },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': base64(JSON.stringify({ auths: { 'example.com': { auth: base64(`${user}:p`) } } })) },
  ...more,
});

function setUp(names: readonly string[], node?: NodeCredentials) {
  const { api, clock, components, signal } = world();
  const { logger, lines } = captureLogger();
  const events: unknown[] = [];
  const recorder: EventRecorder = { event: (_object, ...what) => events.push(what) };
  const secrets = new ObjectCache({ ...components, logger });
  runToTheEnd((linked) => secrets.start(linked));
  const credentials = new PullSecrets({ secrets, recorder, logger, ...(node && { node }) });
  const web = pod('web', { imagePullSecrets: names.map((name) => ({ name })) });
  secrets.registerPod(web);
  const lookup = async (image: string) => {
    return await within(clock, 1, credentials.lookup(web, image, signal));
  };
  return { api, lookup, lines, events };
}

describe('pull credentials of a pod', () => {
  test("a pod pulls with its own secrets first, then with the node's logins", async () => {
    const asked: string[] = [];
    const node: NodeCredentials = {
      lookup: async (_pod, repository) => {
        asked.push(repository);
        return [login('node')];
      },
    };
    const { api, lookup } = setUp(['one', 'two', ''], node);
    api.put(pullSecret('one', 'first'));
    const dockercfg = base64(JSON.stringify({ 'example.com': { username: 'second', password: 'p' } }));
    api.put(pullSecret('two', '', { type: 'kubernetes.io/dockercfg', data: { '.dockercfg': dockercfg } }));
    expect(await lookup('example.com/team/app:1')).toEqual({
      value: [ofSecret('one', 'first'), ofSecret('two', 'second'), login('node')],
    });
    expect(await lookup('busybox')).toEqual({ value: [login('node')] });
    expect(asked).toEqual(['example.com/team/app', 'docker.io/library/busybox']);
  });

  test('a pod pulls without a missing secret, which records an event', async () => {
    const { api, lookup, events } = setUp(['one', 'gone', 'lost']);
    api.put(pullSecret('one', 'first'));
    expect(await lookup('example.com/app')).toEqual({ value: [ofSecret('one', 'first')] });
    expect(events).toEqual([
      [
        'Warning',
        'FailedToRetrieveImagePullSecret',
        'Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.',
      ],
    ]);
  });

  test('pull secrets of another type or without data are ignored', async () => {
    const { api, lookup } = setUp(['one', 'two']);
    api.put(pullSecret('one', 'first', { type: 'Opaque' }));
    api.put(pullSecret('two', 'first', { data: {} }));
    expect(await lookup('example.com/app')).toEqual({ value: [] });
  });

  test('W4: a pod does not pull with an invalid secret; the error names the secret and quotes nothing', async () => {
    const { api, lookup, lines } = setUp(['one']);
    api.put(pullSecret('one', '', { data: { '.dockerconfigjson': base64('{"auths": hunter2') } }));
    const result = await lookup('example.com/app');
    const error = result && 'error' in result ? result.error : undefined;
    expect(error).toMatchObject({
      code: 'InvalidPullSecret',
      message: 'secret "default/one": .dockerconfigjson: it is not JSON',
    });
    expect(JSON.stringify([lines, error, error instanceof Error ? error.stack : ''])).not.toContain('hunter2');
  });

  test('W3: invalid registries of a pull secret are logged once, and only some of them', async () => {
    const { api, lookup, lines } = setUp(['one']);
    const names = Array.from({ length: 500 }, (_none, index) => `exa mple-${index}`);
    const auths = Object.fromEntries([...names, ' '.repeat(100_000)].map((name) => [name, {}]));
    api.put(pullSecret('one', '', { data: { '.dockerconfigjson': base64(JSON.stringify({ auths })) } }));
    expect(await lookup('example.com/app')).toEqual({ value: [] });
    const told = lines.filter(({ message }) => message === 'Invalid registries in a pull secret');
    expect(told).toMatchObject([{ fields: { secret: 'one', count: 501 } }]);
    expect(JSON.stringify(lines).length).toBeLessThan(10_000);
  });

  test('W3: an invalid registry name as long as a whole secret is truncated in the log', async () => {
    const { api, lookup } = setUp(['one']);
    const text = JSON.stringify({ auths: { ['r'.repeat(1_000_000)]: { auth: '?' } } });
    api.put(pullSecret('one', '', { data: { '.dockerconfigjson': base64(text) } }));
    const result = await lookup('example.com/app');
    const error = result && 'error' in result ? result.error : undefined;
    expect(error).toMatchObject({ message: expect.stringMatching(/the entry "r{256}\.\.\.": auth is not base64$/) });
  });

  test('W3, K5: reading pull secrets with many logins yields to the event loop after each secret', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const order: string[] = [];
    const auths = Object.fromEntries(Array.from({ length: 5000 }, (_none, index) => [`r${index}.org`, {}]));
    const data = { '.dockerconfigjson': base64(JSON.stringify({ auths })) };
    const getSecret = async (_namespace: string, name: string): Promise<Secret> =>
      Object.defineProperty(pullSecret(name, ''), 'data', {
        get() {
          order.push(name);
          return data;
        },
      });
    const credentials = new PullSecrets({ clock, secrets: { getSecret } });
    const web = pod('web', { imagePullSecrets: [{ name: 'one' }, { name: 'two' }] });
    clock.setTimer(0, () => order.push('another'));
    const looked = credentials.lookup(web, 'r7.org/app', signal);
    // Secrets for another image of the same pod are looked up at the same time.
    const beside = credentials.lookup(web, 'r8.org/app', signal);
    await clock.settle();
    clock.setTimer(0, () => order.push('a third'));
    await clock.advance(0);
    expect((await looked).length).toBe(2);
    expect((await beside).length).toBe(2);
    expect(order).toEqual(['one', 'another', 'two', 'a third', 'one', 'two']);
  });
});
