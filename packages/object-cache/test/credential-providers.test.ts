import { FakeClock } from '@node-agent/async/testing';
import { MetricsRegistry } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, test } from 'vitest';
import type { CredentialProvider } from '../src/credential-provider-config.ts';
import { parseProviderResponse } from '../src/credential-provider-response.ts';
import { CredentialProviders } from '../src/credential-providers.ts';
import { nodePluginRunner, type PluginResult, type PluginRun } from '../src/plugin-runner.ts';
import { pod, within } from './fixtures.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const login = (username: string) => ({ username, password: 'hunter2' });
const answer = (more: object = {}) => ({
  kind: 'CredentialProviderResponse',
  apiVersion,
  cacheKeyType: 'Image',
  auth: { 'example.com': login('u') },
  ...more,
});

function setUp(providers: readonly Partial<CredentialProvider>[] = [{}]) {
  const clock = new FakeClock();
  const { logger, lines } = captureLogger();
  const metrics = new MetricsRegistry();
  const runs: PluginRun[] = [];
  const plugin = {
    reply: async (_run: PluginRun, _signal: AbortSignal): Promise<PluginResult> => ({
      exitCode: 0,
      stdout: JSON.stringify(answer()),
      stderr: '',
    }),
  };
  const run = (request: PluginRun, signal: AbortSignal): Promise<PluginResult> => {
    runs.push(request);
    return plugin.reply(request, signal);
  };
  const defaults = {
    name: 'p',
    apiVersion,
    matchImages: ['example.com'],
    defaultCacheDurationMs: 0,
    args: [],
    env: [],
  };
  const credentials = new CredentialProviders(
    { run, clock, logger, metrics, environment: { HOME: '/root', A: 'old' } },
    { providers: providers.map((one) => ({ ...defaults, ...one })), binDir: '/plugins', hash: 'sha256:00' },
  );
  const { signal } = new AbortController();
  const lookup = (image: string, ms = 0) => within(clock, ms, credentials.lookup(pod('web'), image, signal));
  const reply = (more: object): void => {
    plugin.reply = async () => ({ exitCode: 0, stdout: JSON.stringify(answer(more)), stderr: '' });
  };
  return { clock, lines, metrics, runs, plugin, credentials, lookup, reply };
}

describe('a credential provider plugin', () => {
  test('a credential provider plugin gets the request on its stdin, with its arguments and environment', async () => {
    const { lookup, runs } = setUp([{ name: 'ecr', args: ['get'], env: [{ name: 'A', value: 'new' }] }]);
    expect(await lookup('example.com/team/app')).toEqual({ value: [login('u')] });
    expect(runs).toEqual([
      {
        command: '/plugins/ecr',
        args: ['get'],
        environment: { HOME: '/root', A: 'new' },
        stdin: `{"kind":"CredentialProviderRequest","apiVersion":"${apiVersion}","image":"example.com/team/app"}\n`,
      },
    ]);
  });

  test('a credential provider plugin is not run for an image of another registry', async () => {
    const { lookup, runs } = setUp();
    expect(await lookup('other.org/app')).toEqual({ value: [] });
    expect(runs).toEqual([]);
  });

  test('W6, K4: a plugin runs for at most four images of a pod at a time, and not for an image whose login was cached in the meantime', async () => {
    const { credentials, clock, runs, plugin } = setUp();
    const waiting: (() => void)[] = [];
    const stdout = JSON.stringify(answer({ cacheKeyType: 'Registry', cacheDuration: '1m' }));
    plugin.reply = () => new Promise((resolve) => waiting.push(() => resolve({ exitCode: 0, stdout, stderr: '' })));
    const { signal } = new AbortController();
    const images = Array.from({ length: 100 }, (_none, index) => `example.com/app-${index}`);
    const looked = images.map((image) => credentials.lookup(pod('web'), image, signal));
    await clock.settle();
    expect(runs).toHaveLength(4);
    // The lookups of another pod do not wait for the lookups of this pod.
    const gone = new AbortController();
    const other = credentials.lookup(pod('other'), 'example.com/other', gone.signal);
    await clock.settle();
    expect(runs).toHaveLength(5);
    gone.abort(new Error('the pod is gone'));
    await expect(other).rejects.toThrow('the pod is gone');
    for (const answered of waiting.splice(0)) answered();
    expect(await Promise.all(looked)).toEqual(images.map(() => [login('u')]));
    expect(runs).toHaveLength(5);
  });

  test('K4: the number of cached plugin responses is limited, even for thousands of images', async () => {
    const { credentials, runs, reply } = setUp();
    reply({ cacheKeyType: 'Image', cacheDuration: '12h' });
    const { signal } = new AbortController();
    const ask = (number: number) => credentials.lookup(pod('web'), `example.com/app-${number}`, signal);
    for (let number = 0; number <= 4096; number++) await ask(number);
    expect(runs).toHaveLength(4097);
    await ask(1);
    await ask(4096);
    expect(runs).toHaveLength(4097);
    await ask(0);
    expect(runs).toHaveLength(4098);
  });

  test('a plugin runs once for concurrent requests of the same image', async () => {
    const { lookup, runs } = setUp();
    const both = [lookup('example.com/app'), lookup('example.com/app')];
    for (const one of both) expect(await one).toEqual({ value: [login('u')] });
    expect(runs.length).toBe(1);
    await lookup('example.com/app');
    expect(runs.length).toBe(2);
  });

  test.each([
    ['Image', ['example.com/app'], ['example.com/other', 'b.example.com/app']],
    ['Registry', ['example.com/app', 'example.com/other'], ['b.example.com/app']],
    ['Global', ['example.com/app', 'example.com/other', 'b.example.com/app'], []],
  ])('a plugin response cached by %s is used until it expires', async (cacheKeyType, kept, others) => {
    const { clock, lookup, reply, runs } = setUp([{ matchImages: ['example.com', '*.example.com'] }]);
    reply({ cacheKeyType, cacheDuration: '10m', auth: { 'example.com': login('u'), '*.example.com': login('u') } });
    await lookup('example.com/app');
    for (const image of kept) expect(await lookup(image)).toEqual({ value: [login('u')] });
    expect(runs.length).toBe(1);
    for (const image of others) await lookup(image);
    expect(runs.length).toBe(1 + others.length);
    await clock.advance(600_001);
    await lookup('example.com/app');
    expect(runs.length).toBe(2 + others.length);
  });

  test.each([
    ['the configured time if the response has none', {}, 2],
    ['no time if the response says 0', { cacheDuration: '0s' }, 3],
  ])('a plugin response is cached for %s', async (_what, more, count) => {
    const { clock, lookup, reply, runs } = setUp([{ defaultCacheDurationMs: 5000 }]);
    reply(more);
    await lookup('example.com/app');
    await lookup('example.com/app');
    await clock.advance(5001);
    await lookup('example.com/app');
    expect(runs.length).toBe(count);
  });

  test('a plugin that fails is logged and counted, and other plugins still run', async () => {
    const { lookup, lines, metrics, plugin } = setUp([{ name: 'bad' }, { name: 'good' }]);
    const { reply: good } = plugin;
    plugin.reply = async (run, signal) =>
      run.command.endsWith('bad') ? { exitCode: 3, stdout: 'hunter2', stderr: 'no network' } : good(run, signal);
    expect(await lookup('example.com/app')).toEqual({ value: [login('u')] });
    expect(lines.map(({ message }) => message)).toEqual(['Failed to provide credentials for image']);
    const text = metrics.text();
    expect(text).toContain('kubelet_credential_provider_plugin_errors_total{plugin_name="bad"} 1');
    expect(text).toContain('kubelet_credential_provider_plugin_duration_count{plugin_name="good"} 1');
    expect(text).toContain('kubelet_credential_provider_config_info{hash="sha256:00"} 1');
  });

  test('a plugin that hangs is killed after a minute', async () => {
    const { lookup, lines, plugin } = setUp();
    const aborted: unknown[] = [];
    plugin.reply = (_run, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason);
          reject(signal.reason);
        });
      });
    expect(await lookup('example.com/app', 59_999)).toBeUndefined();
    expect(await lookup('example.com/app', 1)).toEqual({ value: [] });
    expect(aborted.length).toBe(1);
    expect(lines.length).toBe(2);
  });

  test.each([
    ['another version', { apiVersion: 'v1' }, /did not match expected/],
    ['another kind', { kind: 'Pod' }, /unexpected Kind/],
    ['no cache key type', { cacheKeyType: 'hunter2' }, /valid cacheKeyType/],
    ['an invalid duration', { cacheDuration: 7 }, /must be a duration/],
    ['invalid logins', { auth: { a: 'hunter2' } }, /must be an object/],
    ['an invalid password', { auth: { a: { password: 7 } } }, /must be a string/],
  ])('W4: a plugin response with %s is refused and not quoted', (_what, more, message) => {
    const text = JSON.stringify(answer(more));
    expect(() => parseProviderResponse(text, apiVersion)).toThrow(message);
    expect(() => parseProviderResponse(text, apiVersion)).not.toThrow(/hunter2/);
    expect(() => parseProviderResponse(`${text} hunter2`, apiVersion)).not.toThrow(/hunter2/);
  });

  test('a plugin may return no credentials', () => {
    expect(parseProviderResponse(JSON.stringify(answer({ auth: null })), apiVersion).logins.size).toBe(0);
  });
});

describe('the program of a credential provider plugin', () => {
  const environment = { PATH: '/usr/bin:/bin', WHO: 'me' };
  const sh = (script: string, signal: AbortSignal = new AbortController().signal) =>
    nodePluginRunner({ command: 'sh', args: ['-c', script], environment, stdin: 'asked' }, signal);

  test('a plugin program gets its stdin and environment', async () => {
    expect(await sh('cat; printf " $WHO"; echo bad >&2; exit 3')).toEqual({
      exitCode: 3,
      stdout: 'asked me',
      stderr: 'bad\n',
    });
  });

  test('a plugin program may ignore its stdin', async () => {
    expect(await sh('exec <&-; echo done')).toMatchObject({ exitCode: 0, stdout: 'done\n' });
  });

  test('a plugin program is killed when the signal is aborted', async () => {
    const abort = new AbortController();
    const running = sh('exec sleep 600', abort.signal);
    setImmediate(() => abort.abort(new Error('enough')));
    await expect(running).rejects.toThrow('enough');
  });

  test('a plugin program that prints endless output is killed', async () => {
    await expect(sh('exec yes')).rejects.toThrow('the program printed more than');
  });

  test('a plugin program that does not exist causes an error', async () => {
    const run = { command: '/none', args: [], environment, stdin: '' };
    await expect(nodePluginRunner(run, new AbortController().signal)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
