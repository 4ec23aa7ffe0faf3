import { describe, expect, test } from 'vitest';
import { parseProviderResponse, providerRequest } from '../src/credential-provider-response.ts';

const V1 = 'credentialprovider.kubelet.k8s.io/v1';

test.each<[string, Parameters<typeof providerRequest>[2], object]>([
  ['no account', undefined, {}],
  ['an account without annotations', { token: 't', annotations: {} }, { serviceAccountToken: 't' }],
  [
    'an account',
    { token: 't', annotations: { a: 'b' } },
    { serviceAccountToken: 't', serviceAccountAnnotations: { a: 'b' } },
  ],
])('a plugin is asked with %s', (_name, account, more) => {
  const text = providerRequest(V1, 'example.com/app', account);
  expect(text.endsWith('\n')).toBe(true);
  const request = { kind: 'CredentialProviderRequest', apiVersion: V1, image: 'example.com/app' };
  expect(JSON.parse(text)).toEqual({ ...request, ...more });
});

describe('an answer of a plugin', () => {
  const answer = { kind: 'CredentialProviderResponse', apiVersion: V1, cacheKeyType: 'Image' };
  const parse = (value: unknown) => parseProviderResponse(JSON.stringify(value), V1);

  test.each<[string, unknown, number | undefined]>([
    ['as long as it says', '5m', 300_000],
    ['not at all', '0s', 0],
    ['as long as the configuration says', null, undefined],
    ['as long as the configuration says, where nothing is said', undefined, undefined],
  ])('is kept %s', (_name, cacheDuration, cacheDurationMs) => {
    const auth = { 'example.com': { username: 'u', password: 'p' } };
    expect(parse({ ...answer, auth, cacheDuration })).toEqual({
      logins: new Map([['example.com', auth['example.com']]]),
      cacheKeyType: 'Image',
      cacheDurationMs,
    });
  });

  test.each<[string, unknown, string]>([
    ['no object', [], 'response: must be an object'],
    ['a version that is no text', { ...answer, apiVersion: 1 }, 'response.apiVersion: must be a string'],
    ['another version', { ...answer, apiVersion: 'v2' }, `apiVersion:${V1}, actual apiVersion:v2`],
    ['a kind that is no text', { ...answer, kind: 1 }, 'response.kind: must be a string'],
    ['another kind', { ...answer, kind: 'Pod' }, 'unexpected Kind: "Pod"'],
    ['logins that are none', { ...answer, auth: [] }, 'response.auth: must be an object'],
    ['a login that is none', { ...answer, auth: { r: 5 } }, 'response.auth["r"]: must be an object'],
    ['a duration that is none', { ...answer, cacheDuration: 5 }, 'response.cacheDuration: must be a duration'],
    ['no key of its cache', { ...answer, cacheKeyType: '' }, 'did not return a valid cacheKeyType'],
  ])('with %s is refused', (_name, value, message) => {
    expect(() => parse(value)).toThrow(message);
  });

  const login = { username: 'u', password: 'p' };
  test.each<[string, object]>([
    ['of its own', { ...answer, hunter2: true }],
    ['of a login', { ...answer, auth: { r: { ...login, hunter2: true } } }],
  ])('with a field that upstream does not know, %s, is refused, and not shown', (_name, value) => {
    expect(() => parse(value)).toThrow(/^error decoding credential provider plugin response from stdout$/);
  });

  test('in YAML is parsed like JSON', () => {
    const yaml = `# from a script
kind: CredentialProviderResponse
apiVersion: ${V1}
cacheKeyType: Registry
cacheDuration: 5m
auth:
  example.com:
    username: u
    password: "p: 1"
`;
    expect(parseProviderResponse(yaml, V1)).toEqual({
      logins: new Map([['example.com', { username: 'u', password: 'p: 1' }]]),
      cacheKeyType: 'Registry',
      cacheDurationMs: 300_000,
    });
  });

  test.each([
    ['that is neither JSON nor YAML', 'kind: [hunter2'],
    ['that is a word', 'hunter2'],
    ['that is empty', ''],
    ['in YAML with a field twice', `kind: hunter2\nkind: hunter2\napiVersion: ${V1}`],
    [
      'in YAML of more than 64 KiB',
      `kind: CredentialProviderResponse\napiVersion: ${V1}\ncacheKeyType: Image\n#${' '.repeat(65_536)}`,
    ],
    ['in YAML with an unknown field', `kind: CredentialProviderResponse\napiVersion: ${V1}\nhunter2: 1`],
  ])('%s is refused, and not shown', (_name, text) => {
    expect(() => parseProviderResponse(text, V1)).toThrow(
      /^error decoding credential provider plugin response from stdout$/,
    );
  });
});
