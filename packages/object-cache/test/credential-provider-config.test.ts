import { inspect } from 'node:util';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCredentialProviderConfig } from '../src/credential-provider-config.ts';
import { readCredentialProviders } from '../src/read-credential-providers.ts';

const provider = (more: object = {}) => ({
  name: 'ecr',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
  matchImages: ['*.dkr.ecr.*.amazonaws.com'],
  defaultCacheDuration: '12h',
  ...more,
});
const config = (...providers: unknown[]) =>
  JSON.stringify({ apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers });

const keys = (...names: string[]) => ({ requiredServiceAccountAnnotationKeys: names });
const tokens = (more: object) =>
  config(
    provider({
      tokenAttributes: {
        serviceAccountTokenAudience: 'registry',
        cacheType: 'ServiceAccount',
        requireServiceAccount: true,
        ...more,
      },
    }),
  );

describe('parsing a configuration of credential providers', () => {
  test.each([
    ['a wrongly indented line', 'env:\n- {name: TOKEN, value: hunter2}\n   - hunter2: [', /^line 3, column \d+: /],
    ['an unclosed list', 'env: [{name: TOKEN, value: hunter2', /^line 1, column \d+: /],
    ['an invalid token', 'env: "a"\n@hunter2', /^line 2, column \d+: /],
    ['a duplicate key', 'hunter2: 1\nhunter2: 2', /^line 2, column 1: Map keys must be unique$/],
    ['an invalid escape', 'env: "hunter2\\q"', /^line 1, column \d+: not YAML \(BAD_DQ_ESCAPE\)$/],
    ['a directive that is none', '%YAML hunter2\n---\n', /^line 1, column \d+: not YAML \(BAD_DIRECTIVE\)$/],
    ['a tag of nobody', 'a: !e!hunter2 y', /^line 1, column \d+: not YAML \(TAG_RESOLVE_FAILED\)$/],
    ['a block with more in its head', 'a: |hunter2\n x', /^line 1, column \d+: not YAML \(UNEXPECTED_TOKEN\)$/],
    ['an alias without a name', 'a: *', /^line 1, column \d+: not YAML \(BAD_ALIAS\)$/],
    ['an alias that leads nowhere', 'env: *hunter2', /alias/],
    ['a value in the place of the document', 'hunter2', /must be an object/],
    ['JSON that is cut off', '{"env": [{"name": "TOKEN", "value": "hunter2"', /^line 1, column \d+: /],
  ])(
    'W4: the error for a credential provider configuration with %s has the position and does not quote the text',
    async (_name, text, message) => {
      const fs = new MemoryFileSystem({ clock: new FakeClock() });
      await fs.mkdir('/bin');
      await fs.writeFile('/config.yaml', new TextEncoder().encode(text));
      const error = await readCredentialProviders({ fs }, { configPath: '/config.yaml', binDir: '/bin' }).catch(
        (cause: unknown) => cause,
      );
      expect(error).toMatchObject({ code: 'InvalidProviderConfig' });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
      expect(error instanceof Error && error.cause instanceof Error && error.cause.message).toMatch(message);
    },
  );

  test('parses a credential provider configuration from YAML', () => {
    const text = `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: CredentialProviderConfig
providers:
- name: ecr
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["*.amazonaws.com", "registry.io:8080/path"]
  defaultCacheDuration: 1h30m
  args: [get]
  env:
  - {name: REGION, value: eu}
`;
    expect(parseCredentialProviderConfig(text)).toEqual([
      {
        name: 'ecr',
        apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
        matchImages: ['*.amazonaws.com', 'registry.io:8080/path'],
        defaultCacheDurationMs: 5_400_000,
        args: ['get'],
        env: [{ name: 'REGION', value: 'eu' }],
      },
    ]);
  });

  test.each([
    ['a list', '[]', 'the document: must be an object'],
    ['another kind', '{apiVersion: kubelet.config.k8s.io/v1, kind: Pod}', 'kind: must be CredentialProviderConfig'],
    ['another version', '{apiVersion: v1, kind: CredentialProviderConfig}', 'apiVersion: "v1" is unknown'],
    ['a version that is no string', '{apiVersion: 1}', 'the document.apiVersion: must be a string'],
    [
      'a kind that is no string',
      '{apiVersion: kubelet.config.k8s.io/v1, kind: 1}',
      'the document.kind: must be a string',
    ],
    [
      'providers that are no array',
      '{apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, providers: x}',
      'the document.providers: must be a list',
    ],
    [
      'an unknown field',
      '{apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, plugins: []}',
      'the document: unknown field "plugins"',
    ],
    ['a name of NUL', config(provider({ name: 'a\0' })), 'provider name cannot contain NUL'],
    ['a name that stays', config(provider({ name: '.' })), "provider name cannot be '.'"],
    [
      'an unknown field in env',
      config(provider({ env: [{ name: 'A', value: '1', from: 'x' }] })),
      'providers[0].env[0]: unknown field "from"',
    ],
    [
      'an unknown version of plugins',
      config(provider({ apiVersion: 'v1' })),
      'Unsupported value: "v1": supported values: "credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1alpha1", "credentialprovider.kubelet.k8s.io/v1beta1"',
    ],
    ['an unknown field of tokens', tokens({ ttl: 5 }), 'providers[0].tokenAttributes: unknown field "ttl"'],
    ['the same twice', config(provider(), provider()), 'duplicate provider name "ecr"'],
    ['an unknown field', config(provider({ nmae: 'x' })), 'providers[0]: unknown field "nmae"'],
    ['a name with a slash', config(provider({ name: 'a/b' })), "provider name cannot contain '/'"],
    ['a name with a space', config(provider({ name: 'a b' })), 'provider name cannot contain spaces'],
    ['a name that goes up', config(provider({ name: '..' })), "provider name cannot be '..'"],
    ['no name', config(provider({ name: '' })), 'provider name cannot be empty'],
    ['no version', config(provider({ apiVersion: undefined })), 'providers[0].apiVersion: Unsupported value: ""'],
    ['no images', config(provider({ matchImages: [] })), 'providers[0].matchImages: Required value'],
    ['an image that is none', config(provider({ matchImages: ['a b'] })), 'match image is invalid'],
    [
      'images that are no strings',
      config(provider({ matchImages: [7] })),
      'providers[0].matchImages[0]: must be a string',
    ],
    ['no duration', config(provider({ defaultCacheDuration: null })), 'defaultCacheDuration: Required value'],
    ['a negative duration', config(provider({ defaultCacheDuration: '-1s' })), 'must be greater than or equal to 0'],
    ['a duration that is none', config(provider({ defaultCacheDuration: 7 })), 'must be a duration'],
    [
      'env of numbers',
      config(provider({ env: [{ name: 'A', value: 1 }] })),
      'providers[0].env[0].value: must be a string',
    ],
    ['tokens without an audience', tokens({ serviceAccountTokenAudience: '' }), 'Audience: Required value'],
    ['tokens without a need', tokens({ requireServiceAccount: undefined }), 'requireServiceAccount: Required value'],
    ['tokens with another cache', tokens({ cacheType: 'Pod' }), 'cacheType: Unsupported value'],
    [
      'a need of annotations alone',
      tokens({ requireServiceAccount: false, ...keys('a') }),
      'requireServiceAccount cannot be',
    ],
    ['keys that are none', tokens(keys('a b')), 'requiredServiceAccountAnnotationKeys: Invalid value: "a b"'],
    ['keys twice', tokens(keys('a', 'a')), 'Duplicate value: "a"'],
    [
      'keys of both kinds',
      tokens({ ...keys('a'), optionalServiceAccountAnnotationKeys: ['a'] }),
      'cannot be both required and optional',
    ],
    [
      'tokens in an old version',
      config(provider({ apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1', tokenAttributes: {} })),
      'tokenAttributes is only supported for',
    ],
  ])('refuses a credential provider configuration with %s', (_what, text, message) => {
    expect(() => parseCredentialProviderConfig(text)).toThrow(message);
  });

  test.each(['v1', 'v1beta1', 'v1alpha1'])(
    'reads a credential provider configuration of version %s, for plugins of that version',
    (version) => {
      const apiVersion = `credentialprovider.kubelet.k8s.io/${version}`;
      const text = config(provider({ apiVersion, defaultCacheDuration: '0s' }));
      const [read] = parseCredentialProviderConfig(
        text.replace('kubelet.config.k8s.io/v1', `kubelet.config.k8s.io/${version}`),
      );
      expect(read).toMatchObject({ apiVersion, defaultCacheDurationMs: 0 });
      expect(read).not.toHaveProperty('tokenAttributes');
    },
  );

  test.each(['Token', 'ServiceAccount'])(
    'reads tokenAttributes of a credential provider (audience, annotation keys) with cacheType %s',
    (cacheType) => {
      const audience = { serviceAccountTokenAudience: 'registry', cacheType };
      const needed = { ...audience, requireServiceAccount: true };
      const [read] = parseCredentialProviderConfig(
        tokens({ cacheType, ...keys('a'), optionalServiceAccountAnnotationKeys: ['b'] }),
      );
      expect(read).toEqual({
        ...{ name: 'ecr', apiVersion: 'credentialprovider.kubelet.k8s.io/v1', args: [], env: [] },
        ...{ matchImages: ['*.dkr.ecr.*.amazonaws.com'], defaultCacheDurationMs: 43_200_000 },
        tokenAttributes: {
          ...needed,
          requiredServiceAccountAnnotationKeys: ['a'],
          optionalServiceAccountAnnotationKeys: ['b'],
        },
      });
      const [optional] = parseCredentialProviderConfig(tokens({ cacheType, requireServiceAccount: false }));
      expect(optional?.tokenAttributes).toMatchObject({ ...audience, requireServiceAccount: false });
    },
  );

  test('W3: any credential provider configuration is parsed or rejected', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(() => parseCredentialProviderConfig(config(JSON.parse(text)))).toThrow(/providers/);
      }),
    );
  });
});

describe('the configuration files of credential providers', () => {
  async function setUp(files: Readonly<Record<string, string>>, programs: readonly string[] = ['ecr', 'gcr']) {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    await fs.mkdir('/etc/providers');
    await fs.mkdir('/bin/providers');
    for (const [name, text] of Object.entries(files)) await fs.writeFile(`/etc/providers/${name}`, text);
    for (const name of programs) await fs.writeFile(`/bin/providers/${name}`, '', { mode: 0o755 });
    return async (configPath = '/etc/providers', binDir = '/bin/providers') =>
      await readCredentialProviders({ fs }, { configPath, binDir });
  }

  test('credential provider configurations of a directory are combined in the order of their names', async () => {
    const files = { 'b.json': config(provider()), 'a.yaml': config(provider({ name: 'gcr' })), 'c.txt': 'no' };
    const read = await setUp(files);
    const { providers, hash } = await read();
    expect(providers.map(({ name }) => name)).toEqual(['gcr', 'ecr']);
    expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect((await read('/etc/providers/b.json')).hash).not.toBe(hash);
  });

  test('a credential provider configuration may lack providers if another file has one', async () => {
    const read = await setUp({ 'a.yaml': config(), 'b.json': config(provider()), 'c.yml': config() });
    expect((await read()).providers.map(({ name }) => name)).toEqual(['ecr']);
  });

  test.each([
    ['no file', {}, undefined, 'no configuration files found in directory "/etc/providers"'],
    [
      'one file, without a provider',
      { 'a.yaml': config() },
      '/etc/providers/a.yaml',
      'failed to validate credential provider config "/etc/providers/a.yaml": providers: Required value: at least 1 item in plugins is required',
    ],
    [
      'two files, both without a provider',
      { 'a.yaml': config(), 'b.yaml': config() },
      undefined,
      'failed to validate credential provider config "/etc/providers": providers: Required value: at least 1 item in plugins is required',
    ],
    ['an invalid file', { 'a.yaml': 'kind: [' }, undefined, 'error decoding config "/etc/providers/a.yaml"'],
    [
      'two files with the same provider',
      { 'a.yaml': config(provider()), 'b.yaml': config(provider()) },
      undefined,
      'error decoding config "/etc/providers/b.yaml": duplicate provider name "ecr"',
    ],
    [
      'a program that is missing',
      { 'a.yaml': config(provider({ name: 'acr' })) },
      undefined,
      'plugin binary executable /bin/providers/acr did not exist',
    ],
    ['a missing path', {}, '/etc/none', 'unable to access path "/etc/none"'],
  ])('refuses a directory of credential provider configuration files (%s)', async (_what, files, path, message) => {
    const read = await setUp(files);
    await expect(read(path)).rejects.toMatchObject({
      code: 'InvalidProviderConfig',
      message: expect.stringContaining(message),
    });
  });

  test('rejects a credential provider that is not executable, and a missing directory', async () => {
    const read = await setUp({ 'a.yaml': config(provider()) }, []);
    await expect(read(undefined, '/none')).rejects.toThrow('plugin binary directory /none did not exist');
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    await fs.mkdir('/p');
    await fs.writeFile('/p/a.yaml', config(provider()));
    await fs.writeFile('/p/ecr', '', { mode: 0o644 });
    const reading = readCredentialProviders({ fs }, { configPath: '/p/a.yaml', binDir: '/p' });
    await expect(reading).rejects.toThrow('/p/ecr: it is not an executable file');
  });
});
